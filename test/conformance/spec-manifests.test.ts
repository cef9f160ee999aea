import { describe, expect, test } from "vitest";
import { deploymentForTests } from "./src/for-tests.ts";

const { api, name } = await deploymentForTests();

const override = { reason: "read by a person" };
const manifestOf = (scope: string, ref: string) => ({
  scopes: { [scope]: { hop_budget: 2, tools: [{ ref, data_classes: ["finance.entries"] }] } },
});
const admin = (method: string, path: string, body?: unknown) =>
  api.call(method, path, { bearer: api.tokens.admin, ...(body !== undefined && { body }) });
const register = (body: object) => admin("POST", "/v1/agents", body);
const registerText = async (body: string): Promise<void> => {
  const raw = { body, headers: { "content-type": "application/json" } };
  expect((await api.call("POST", "/v1/agents", { bearer: api.tokens.admin, raw })).status).toBe(201);
};
const submit = (body: object) => admin("POST", "/v1/manifests", body);

describe("manifests", () => {
  test("of an unregistered agent are 404", async () => {
    const answer = await submit({ agent: name("nobody"), manifest: manifestOf(name("scope"), "http:x/y"), override });
    expect([answer.status, answer.body.error.code]).toEqual([404, "agent_not_found"]);
  });

  test("are appended, never edited, and returned byte for byte", async () => {
    const [agent, scope] = [name("agent"), name("scope")];
    await api.attest(agent, { [scope]: { hop_budget: 1 } });
    const doc = `{"scopes": {"${scope}":{"tools":[], "hop_budget":2.0}}}`;
    const answer = await api.call("POST", "/v1/manifests", {
      bearer: api.tokens.admin,
      raw: {
        body: `{"agent":"${agent}","override":{},"manifest":${doc}}`,
        headers: { "content-type": "application/json" },
      },
    });
    expect([answer.status, answer.body.manifest_version]).toEqual([201, 2]);
    const latest = await admin("GET", `/v1/manifests/${scope}`);
    expect(latest.text).toContain(doc);
    expect(latest.body).toMatchObject({
      agent,
      version: 2,
      status: "attested",
      attested_by: expect.stringMatching(/^human:/),
    });
    expect(latest.body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const first = await admin("GET", `/v1/manifests/${scope}?version=1`);
    expect(first.body).toMatchObject({ version: 1, doc: { scopes: { [scope]: { hop_budget: 1 } } } });
  });

  test("are previewed with the status that they would have, and nothing is stored", async () => {
    const [agent, scope] = [name("agent"), name("scope")];
    const body = { agent, manifest: manifestOf(scope, "http:x/y") };
    const preview = (body: object) => admin("POST", "/v1/manifests/preview", body);
    expect((await preview(body)).body).toMatchObject({ status: "needs_review", discovery_ok: false });
    expect((await preview({ ...body, override })).body).toMatchObject({ status: "attested" });
    expect((await admin("GET", `/v1/manifests/${scope}`)).status).toBe(404);
    expect((await admin("GET", `/v1/agents/resolve?name=${agent}`)).status).toBe(404);
  });

  test.each(["1.0", "1e0", "10E-1", "1.00000"])("keep the spelling of a budget written %s", async (number) => {
    const [agent, scope] = [name("agent"), name("scope")];
    const doc = `{"scopes":{"${scope}":{"hop_budget":${number}}}}`;
    await registerText(`{"name":"${agent}","manifest":${doc},"override":{}}`);
    expect((await admin("GET", `/v1/manifests/${scope}`)).text).toContain(`"doc":${doc}`);
  });

  test("keep the order of members, the white space and the escapes of text", async () => {
    const [agent, scope] = [name("agent"), name("exact é 漢")];
    const tool = '"tools":[{"ref":"http:x/y","access":"read", "data_classes":["b","a"]}]';
    const source = '"discovery":[{"url":"http://h.test/","kind":"http"}]';
    const doc = `{ "scopes" : {"${scope} \\u00e9":{${tool},\n"hop_budget":1e0}},\t${source}}`;
    await registerText(`{"manifest":${doc},\n"override":{}, "name":"${agent}"}`);
    const { text, body } = await admin("GET", `/v1/manifests/${encodeURIComponent(`${scope} é`)}`);
    expect(text).toContain(`"doc":${doc}`);
    expect(body.doc).toEqual(JSON.parse(doc));
  });

  test.each(["0", "1.0", "-1", "x", "1&version=1", "99999999999"])("are refused for version=%s", async (version) => {
    const answer = await admin("GET", `/v1/manifests/${name("scope")}?version=${version}`);
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
  });

  test("of look-alike scopes are distinct", async () => {
    const run = name("alike");
    const alike = [
      "а",
      "a",
      "A",
      "a ",
      "a/b",
      "a%2Fb",
      "%",
      "_",
      "\\",
      "'; drop table agent; --",
      "é",
      "e\u0301",
      "😀",
    ];
    const scopes = new Map(alike.map((text) => [`${text} ${run}`, name("agent")]));
    for (const [scope, agent] of scopes) await api.attest(agent, { [scope]: { hop_budget: 1 } });
    for (const [scope, agent] of scopes) {
      expect((await admin("GET", `/v1/manifests/${encodeURIComponent(scope)}`)).body.agent).toBe(agent);
    }
  });

  test("of an unknown scope or version are 404", async () => {
    const scope = name("scope");
    const unknown = await admin("GET", `/v1/manifests/${scope}`);
    expect([unknown.status, unknown.body.error.code]).toEqual([404, "scope_not_found"]);
    await api.attest(name("agent"), { [scope]: { hop_budget: 1 } });
    const version = await admin("GET", `/v1/manifests/${scope}?version=2`);
    expect([version.status, version.body.error.code]).toEqual([404, "manifest_version_not_found"]);
  });

  test("are read by scope (the newest accepted one) or by agent, and a version that several agents have only by agent", async () => {
    const [first, second, scope] = [name("agent"), name("agent"), name("scope")];
    await api.attest(first, { [scope]: { hop_budget: 1 } });
    await api.attest(second, { [scope]: { hop_budget: 2 } });
    const refused = await submit({ agent: second, manifest: manifestOf(scope, `http:${scope}/read`) });
    expect(refused.status).toBe(409);
    const read = async (query: string) => {
      const { agent, version, status } = (await admin("GET", `/v1/manifests/${scope}?${query}`)).body;
      return [agent, version, status];
    };
    expect(await read("")).toEqual([second, 1, "attested"]);
    expect(await read(`agent=${first}`)).toEqual([first, 1, "attested"]);
    expect(await read(`agent=${second}&version=2`)).toEqual([second, 2, "needs_review"]);
    expect(await read(`agent=${first}&version=1`)).toEqual([first, 1, "attested"]);
    const several = await admin("GET", `/v1/manifests/${scope}?version=1`);
    expect([several.status, several.body.error.code]).toEqual([400, "invalid_request"]);
    for (const agent of [first, second]) expect(several.body.error.message).toContain(agent);
  });

  test("submitted 20 at once get 20 versions", async () => {
    const [agent, scope] = [name("agent"), name("scope")];
    await api.attest(agent, { [scope]: { hop_budget: 1 } });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        submit({ agent, manifest: { scopes: { [scope]: { hop_budget: n + 1 } } }, override }),
      ),
    );
    const versions = answers.map(({ body }) => body.manifest_version).sort((a, b) => a - b);
    expect(versions).toEqual(Array.from({ length: 20 }, (_, n) => n + 2));
    const newest = (await admin("GET", `/v1/manifests/${scope}`)).body;
    const catalog = (await admin("GET", `/v1/scopes/${scope}/catalog`)).body;
    expect([newest.version, catalog.hop_budget]).toEqual([21, newest.doc.scopes[scope].hop_budget]);
  });

  const inScope = (changes: object) => ({ manifest: { scopes: { s: { hop_budget: 1, ...changes } } } });
  const inTool = (changes: object) => inScope({ tools: [{ ref: "a", data_classes: ["d"], ...changes }] });
  test.each([
    ["no name", { name: undefined }, "name"],
    ["a name in capitals", { name: "Agent" }, "name"],
    ["a name with NUL", { name: "a\u0000" }, "name"],
    ["a name of 129 characters", { name: "a".repeat(129) }, "name"],
    ["no manifest", { manifest: undefined }, "manifest"],
    ["an unknown member", { nmae: "x" }, ""],
    ["an unknown member of the override", { override: { why: "x" } }, "override"],
    ["a reason with NUL", { override: { reason: "a\u0000b" } }, "override.reason"],
    ["an empty reason", { override: { reason: "" } }, "override.reason"],
    ["an override that is text", { override: "because" }, "override"],
    ["no scopes", { manifest: { scopes: {} } }, "manifest.scopes"],
    [
      "a scope with a control character",
      { manifest: { scopes: { "a\nb": { hop_budget: 1 } } } },
      'manifest.scopes["a\\nb"]',
    ],
    [
      "a scope of 256 characters",
      { manifest: { scopes: { ["x".repeat(256)]: { hop_budget: 1 } } } },
      `manifest.scopes.${"x".repeat(256)}`,
    ],
    ["an unknown member of a scope", inScope({ budget: 1 }), "manifest.scopes.s"],
    ["a budget of 0", inScope({ hop_budget: 0 }), "manifest.scopes.s.hop_budget"],
    ["a budget of 33", inScope({ hop_budget: 33 }), "manifest.scopes.s.hop_budget"],
    ["a budget that is text", inScope({ hop_budget: "1" }), "manifest.scopes.s.hop_budget"],
    ["a fractional budget", inScope({ hop_budget: 1.5 }), "manifest.scopes.s.hop_budget"],
    ["a tool without classes", inTool({ data_classes: [] }), "manifest.scopes.s.tools[0].data_classes"],
    ["a class twice", inTool({ data_classes: ["d", "d"] }), "manifest.scopes.s.tools[0].data_classes"],
    ["a class with an empty segment", inTool({ data_classes: ["a..b"] }), "manifest.scopes.s.tools[0].data_classes[0]"],
    ["a ref with a space", inTool({ ref: "a b" }), "manifest.scopes.s.tools[0].ref"],
    ["the implicit tool of a server", inTool({ ref: "mcp:server" }), "manifest.scopes.s.tools[0].ref"],
    ["a misspelt access", inTool({ access: "wirte" }), "manifest.scopes.s.tools[0].access"],
    [
      "a discovery URL of another scheme",
      { manifest: { scopes: { s: { hop_budget: 1 } }, discovery: { kind: "http", url: "file:///etc" } } },
      "manifest.discovery.url",
    ],
    ["a name of another alphabet", { name: "Ägent" }, "name"],
    ["a manifest that is a list", { manifest: [] }, "manifest"],
    ["a scope with NUL", { manifest: { scopes: { "a\0b": { hop_budget: 1 } } } }, 'manifest.scopes["a\\u0000b"]'],
  ])("with %s are malformed", async (_case, change, path) => {
    const answer = await register({ name: name("agent"), manifest: manifestOf("s", "http:x/y"), override, ...change });
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
    expect(answer.body.details.issues).toContainEqual({ path, message: expect.any(String) });
  });

  test("with a scope named __proto__ are malformed", async () => {
    const body = `{"name":"${name("agent")}","manifest":{"scopes":{"__proto__":{"hop_budget":1}}},"override":{}}`;
    const raw = { body, headers: { "content-type": "application/json" } };
    expect((await api.call("POST", "/v1/agents", { bearer: api.tokens.admin, raw })).status).toBe(400);
  });

  test("of 5 MB are too large", async () => {
    const answer = await register({ name: name("agent"), manifest: { scopes: {}, x: "x".repeat(5_000_000) } });
    expect([answer.status, answer.body.error.code]).toEqual([413, "payload_too_large"]);
  });
});

describe("the catalog of a scope", () => {
  test("shows what a consent grants, without paths, and keeps every version", async () => {
    const [agent, below, scope] = [name("agent"), name("below"), name("scope")];
    const read = { ref: `http:${scope}/read`, data_classes: ["finance"] };
    const write = { ref: `http:${scope}/write`, data_classes: ["ledger"], access: "write", privileged: true };
    await api.attest(below, { [scope]: { hop_budget: 2, tools: [write] } });
    await api.attest(agent, { [scope]: { hop_budget: 3, tools: [read], downstream_agents: [below] } });
    const { status, body } = await admin("GET", `/v1/scopes/${scope}/catalog`);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        scope,
        version: 2,
        tools: [
          { ref: read.ref, data_classes: ["finance"], privileged: false },
          { ref: write.ref, data_classes: ["ledger"], privileged: true },
        ],
        data_classes: { reads: ["finance"], writes: ["ledger"] },
        entry_agents: [agent],
        downstream_agents: [below],
        hop_budget: 3,
      },
    });
    const first = await admin("GET", `/v1/scopes/${scope}/catalog?version=1`);
    expect(first.body).toMatchObject({ version: 1, tools: [{ ref: write.ref }], hop_budget: 2 });
    await submit({ agent, manifest: manifestOf(scope, read.ref), override });
    expect((await admin("GET", `/v1/scopes/${scope}/catalog?version=1`)).text).toBe(first.text);
    const unknown = await admin("GET", `/v1/scopes/${scope}/catalog?version=99`);
    expect([unknown.status, unknown.body.error.code]).toEqual([404, "policy_version_not_found"]);
  });

  test("keeps its version when a manifest grants the same again", async () => {
    const [agent, scope] = [name("agent"), name("scope")];
    const manifest = manifestOf(scope, `http:${scope}/read`);
    await register({ name: agent, manifest, override });
    expect((await submit({ agent, manifest, override })).body.manifest_version).toBe(2);
    expect((await admin("GET", `/v1/scopes/${scope}/catalog`)).body.version).toBe(1);
  });

  test("loses the tools of an agent that leaves the scope, and keeps those of the others", async () => {
    const [leaving, staying, scope] = [name("leaving"), name("staying"), name("scope")];
    await register({ name: leaving, manifest: manifestOf(scope, `http:${scope}/a`), override });
    await register({ name: staying, manifest: manifestOf(scope, `http:${scope}/b`), override });
    await submit({ agent: leaving, manifest: manifestOf(name("scope"), `http:${scope}/a`), override });
    const { tools } = (await admin("GET", `/v1/scopes/${scope}/catalog`)).body;
    expect(tools.map(({ ref }: { ref: string }) => ref)).toEqual([`http:${scope}/b`]);
  });

  test("holds the tools of all of 20 agents that register at once, and counts a version for each", async () => {
    const scopes = [name("scope"), name("scope"), name("scope")];
    const registered = await Promise.all(
      Array.from({ length: 20 }, (_, n) => {
        const inTurn = [...scopes.slice(n % 2), ...scopes.slice(0, n % 2)];
        const tools = [{ ref: `http:crowd/${n}`, data_classes: ["finance"] }];
        return api.attest(name("agent"), Object.fromEntries(inTurn.map((scope) => [scope, { hop_budget: 2, tools }])));
      }),
    );
    expect(registered.map(({ status }) => status)).toEqual(Array(20).fill(201));
    for (const scope of scopes) {
      const { version, tools } = (await admin("GET", `/v1/scopes/${scope}/catalog`)).body;
      expect([version, tools.length]).toEqual([20, 20]);
    }
  });

  test("marks a tool as privileged where any agent declares it so", async () => {
    const [one, other, scope] = [name("agent"), name("agent"), name("scope")];
    const tool = { ref: `http:${scope}/pay`, data_classes: ["ledger"] };
    await api.attest(one, { [scope]: { hop_budget: 2, tools: [{ ...tool, privileged: true }] } });
    await api.attest(other, { [scope]: { hop_budget: 2, tools: [tool] } });
    const { tools } = (await admin("GET", `/v1/scopes/${scope}/catalog`)).body;
    expect(tools).toEqual([{ ref: tool.ref, data_classes: ["ledger"], privileged: true }]);
  });
});

test("a manifest with an unregistered downstream agent is accepted, and the delegation works once that agent registers", async () => {
  const [upper, later, scope] = [name("upper"), name("later"), name("scope")];
  const tool = { ref: `http:${scope}/read`, data_classes: ["finance"] };
  await api.attest(upper, { [scope]: { hop_budget: 3, tools: [tool], downstream_agents: [later] } });
  const delegate = async () => {
    const { session, token } = await api.consent(scope);
    const held = await api.hop(session, token, { target: upper, target_kind: "agent", data_class: "finance" });
    const delegation = { target: later, target_kind: "agent", data_class: "finance" } as const;
    return (await api.authorize(session, held.token, delegation)).body;
  };
  expect(await delegate()).toMatchObject({ decision: "deny", deny_reason: "PATH_NOT_DECLARED" });
  await api.attest(later, { [scope]: { hop_budget: 3, tools: [tool] } });
  expect((await delegate()).decision).toBe("allow");
});
