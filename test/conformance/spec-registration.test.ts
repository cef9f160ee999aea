import { capabilitiesOf, type EchoUpstream, startEchoUpstream } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { has } from "./src/deployment.ts";
import { deploymentForTests } from "./src/for-tests.ts";

const { api, name } = await deploymentForTests();

const override = { reason: "read by a person" };
const unknownId = "01900000-0000-7000-8000-000000000000";
const manifestOf = (scope: string, ref: string) => ({
  scopes: { [scope]: { hop_budget: 2, tools: [{ ref, data_classes: ["finance.entries"] }] } },
});
const admin = (method: string, path: string, body?: unknown) =>
  api.call(method, path, { bearer: api.tokens.admin, ...(body !== undefined && { body }) });
const register = (body: object) => admin("POST", "/v1/agents", body);
const catalogOf = async (scope: string) => (await admin("GET", `/v1/scopes/${scope}/catalog`)).body;
const idOf = async (agent: string): Promise<string> =>
  (await admin("GET", `/v1/agents/resolve?name=${agent}`)).body.agent_id;

describe("a manifest with discovered capabilities", () => {
  let source: EchoUpstream;
  let advertised = { tools: [] as { ref: string }[], downstream_agents: [] as string[] };
  beforeAll(async () => {
    source = await startEchoUpstream((_request, response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(advertised));
    });
  });
  afterAll(() => source.stop());
  const declared = (scope: string, ref: string) => ({
    discovery: { kind: "http", url: source.url },
    ...manifestOf(scope, ref),
  });

  test.skipIf(!has.loopbackDiscovery)(
    "needs a person where another origin speaks for a server's tools, or a tool is weaker than on record (needs loopback discovery)",
    async () => {
      const [scope, server] = [name("scope"), name("server")];
      const ref = `http:${server}/pay`;
      const tool = { ref, data_classes: ["finance"], privileged: true };
      const declare = (url: string, members: object = {}) => ({
        discovery: { kind: "http", url },
        scopes: { [scope]: { hop_budget: 2, tools: [{ ...tool, ...members }] } },
      });
      const { port } = new URL(source.url);
      const elsewhere = `http://localhost:${port}`;
      advertised = { tools: [{ ref }], downstream_agents: [] };
      const first = await register({ name: name("agent"), manifest: declare(source.url) });
      expect(first.body).toMatchObject({ status: "reconciled" });
      const weaker = await register({ name: name("agent"), manifest: declare(source.url, { privileged: false }) });
      expect([weaker.status, weaker.body.error.code]).toEqual([409, "needs_review"]);
      expect(weaker.body.details.diff).toMatchObject([{ ref, kind: "undiscovered", field: "privileged" }]);
      const stranger = { name: name("agent"), manifest: declare(elsewhere) };
      const refused = await register(stranger);
      expect([refused.status, refused.body.error.code]).toEqual([409, "needs_review"]);
      expect(refused.body.details.diff).toMatchObject([
        {
          ref: `http:${server}`,
          kind: "undiscovered",
          field: "discovery",
          declared: elsewhere,
          discovered: source.url,
        },
      ]);
      expect((await register({ ...stranger, override })).body).toMatchObject({ status: "attested" });
      const next = await register({ name: name("agent"), manifest: declare(elsewhere) });
      expect(next.body).toMatchObject({ status: "reconciled" });
    },
  );

  test.skipIf(!has.loopbackDiscovery)("is accepted where it matches: 201 (needs loopback discovery)", async () => {
    const [agent, scope] = [name("agent"), name("scope")];
    const manifest = declared(scope, `http:${scope}/read`);
    advertised = capabilitiesOf(manifestOf(scope, `http:${scope}/read`));
    const { status, body } = await register({ name: agent, manifest });
    expect({ status, body }).toEqual({
      status: 201,
      body: { agent_id: expect.any(String), manifest_version: 1, status: "reconciled" },
    });
    const report = await admin("GET", `/v1/agents/${body.agent_id}/reconciliation`);
    const reconciled = { status: "reconciled", discovery_ok: true, diff: [], attestation: null };
    expect(report.body).toMatchObject({ manifest_version: 1, ...reconciled });
    expect((await admin("GET", `/v1/manifests/${scope}`)).body).toMatchObject({ agent, attested_by: "discovery" });
  });

  test.skipIf(!has.loopbackDiscovery)(
    "is rejected where it exceeds: 422 with a remedy for each ref, also with an override (needs loopback discovery)",
    async () => {
      const [agent, scope] = [name("agent"), name("scope")];
      advertised = { tools: [], downstream_agents: [] };
      const manifest = declared(scope, `http:${scope}/more`);
      const rejected = {
        status: 422,
        body: {
          error: { code: "reconciliation_rejected", message: expect.any(String) },
          details: {
            diff: [expect.objectContaining({ ref: `http:${scope}/more`, kind: "exceeds", remedy: expect.any(String) })],
          },
        },
      };
      expect(await register({ name: agent, manifest })).toMatchObject(rejected);
      expect(await register({ name: agent, manifest, override })).toMatchObject(rejected);
      expect((await admin("GET", `/v1/agents/resolve?name=${agent}`)).status).toBe(404);
    },
  );

  test.skipIf(!has.loopbackDiscovery)(
    "is kept as a version where a registered agent's is rejected, and the scope keeps its policy (needs loopback discovery)",
    async () => {
      const [agent, scope] = [name("agent"), name("scope")];
      const [read, write] = [`http:${scope}/read`, `http:${scope}/write`];
      const submit = (ref: string) => admin("POST", "/v1/manifests", { agent, manifest: declared(scope, ref) });
      advertised = capabilitiesOf(manifestOf(scope, read));
      const { agent_id } = (await register({ name: agent, manifest: declared(scope, read) })).body;
      expect((await submit(write)).status).toBe(422);
      expect((await admin("GET", `/v1/manifests/${scope}`)).body.version).toBe(1);
      const pinned = await admin("GET", `/v1/manifests/${scope}?version=2`);
      expect([pinned.status, pinned.body.error.code]).toEqual([404, "manifest_version_not_found"]);
      const report = (await admin("GET", `/v1/agents/${agent_id}/reconciliation`)).body;
      expect(report).toMatchObject({ manifest_version: 2, status: "rejected" });
      expect(await catalogOf(scope)).toMatchObject({ version: 1, tools: [{ ref: read }] });
      advertised = capabilitiesOf(manifestOf(scope, write));
      expect((await submit(write)).body).toMatchObject({ manifest_version: 3, status: "reconciled" });
      expect(await catalogOf(scope)).toMatchObject({ version: 2, tools: [{ ref: write }] });
    },
  );
});

describe("a manifest whose capabilities cannot be discovered", () => {
  test("needs review: 409, an entry for each ref, and no agent", async () => {
    const [agent, scope] = [name("agent"), name("scope")];
    const answer = await register({ name: agent, manifest: manifestOf(scope, `http:${scope}/read`) });
    expect(answer).toMatchObject({
      status: 409,
      body: {
        error: { code: "needs_review" },
        details: { diff: [{ ref: `http:${scope}/read`, kind: "undiscovered", remedy: expect.any(String) }] },
      },
    });
    expect((await admin("GET", `/v1/agents/resolve?name=${agent}`)).status).toBe(404);
    expect((await admin("GET", `/v1/manifests/${scope}`)).status).toBe(404);
    expect((await admin("GET", `/v1/scopes/${scope}/catalog`)).status).toBe(404);
  });

  test("is kept as a version of a registered agent, and the scope keeps its policy", async () => {
    const [agent, scope] = [name("agent"), name("scope")];
    const { agent_id } = (await register({ name: agent, manifest: manifestOf(scope, `http:${scope}/a`), override }))
      .body;
    const refused = await admin("POST", "/v1/manifests", { agent, manifest: manifestOf(scope, `http:${scope}/b`) });
    expect([refused.status, refused.body.error.code]).toEqual([409, "needs_review"]);
    const report = (await admin("GET", `/v1/agents/${agent_id}/reconciliation`)).body;
    expect(report).toMatchObject({ manifest_version: 2, status: "needs_review" });
    expect(await catalogOf(scope)).toMatchObject({ version: 1, tools: [{ ref: `http:${scope}/a` }] });
  });

  test("is stored with an override, and the version keeps its reason", async () => {
    const [agent, scope] = [name("agent"), name("scope")];
    const answer = await register({ name: agent, manifest: manifestOf(scope, `http:${scope}/read`), override });
    expect([answer.status, answer.body.status, answer.body.manifest_version]).toEqual([201, "attested", 1]);
    const report = await admin("GET", `/v1/agents/${answer.body.agent_id}/reconciliation`);
    expect(report.body).toMatchObject({
      manifest_version: 1,
      status: "attested",
      discovery_ok: false,
      attestation: { reason: override.reason },
      diff: [expect.objectContaining({ kind: "undiscovered" })],
    });
  });

  test("is never discovered at a private address: the source counts as unavailable", async () => {
    const metadata = ["http://169.254.169.254/latest", "http://[::ffff:169.254.169.254]/"];
    // A deployment may allow its own private network, but never metadata servers.
    for (const url of has.issuerKey ? [...metadata, "http://10.0.0.1/"] : metadata) {
      const scope = name("scope");
      const manifest = { discovery: { kind: "http", url }, ...manifestOf(scope, `http:${scope}/read`) };
      const answer = await register({ name: name("agent"), manifest });
      expect([url, answer.status, answer.body.error.code]).toEqual([url, 409, "needs_review"]);
      expect(answer.text).toContain("SVC_DISCOVERY_ALLOW");
    }
  });
});

describe("a registered agent", () => {
  test("cannot be registered again", async () => {
    const body = { name: name("agent"), manifest: manifestOf(name("scope"), name("http:x/y")), override };
    expect((await register(body)).status).toBe(201);
    const again = await register(body);
    expect([again.status, again.body.error.code]).toEqual([409, "agent_exists"]);
  });

  test("registered 20 times at once is registered once, and the other requests are agent_exists", async () => {
    const body = { name: name("agent"), manifest: manifestOf(name("scope"), name("http:x/y")), override };
    const answers = await Promise.all(Array.from({ length: 20 }, () => register(body)));
    const told = answers.map(({ status, body: answer }) =>
      status === 201 ? "registered" : `${status} ${answer.error.code}`,
    );
    expect(told.sort()).toEqual([...Array(19).fill("409 agent_exists"), "registered"]);
  });

  test("is listed with its latest version and status, in pages", async () => {
    const agents = [name("agent"), name("agent")];
    for (const agent of agents) await api.attest(agent, { [name("scope")]: { hop_budget: 1 } });
    const seen = new Map<string, object>();
    for (let cursor = ""; ; ) {
      const { status, body } = await admin("GET", `/v1/agents?limit=200${cursor}`);
      expect([status, body.page.limit]).toEqual([200, 200]);
      for (const item of body.data) seen.set(item.name, item);
      if (body.page.next_cursor === null) break;
      cursor = `&cursor=${encodeURIComponent(body.page.next_cursor)}`;
    }
    // By name, in the order of code points.
    expect([...seen.keys()]).toEqual([...seen.keys()].sort());
    for (const agent of agents) {
      expect(seen.get(agent)).toEqual({
        id: await idOf(agent),
        name: agent,
        latest_manifest_version: 1,
        latest_status: "attested",
      });
    }
  });

  test("is listed under its latest status alone", async () => {
    const [agent, scope] = [name("agent"), name("scope")];
    await api.attest(agent, { [scope]: { hop_budget: 1 } });
    const manifest = manifestOf(scope, `http:${scope}/read`);
    expect((await admin("POST", "/v1/manifests", { agent, manifest })).status).toBe(409);
    const listed = async (status: string) => {
      const names: string[] = [];
      for (let cursor = ""; ; ) {
        const { body } = await admin("GET", `/v1/agents?status=${status}&limit=200${cursor}`);
        names.push(...body.data.map((item: { name: string }) => item.name));
        if (body.page.next_cursor === null) return names;
        cursor = `&cursor=${encodeURIComponent(body.page.next_cursor)}`;
      }
    };
    expect(await listed("needs_review")).toContain(agent);
    expect(await listed("attested")).not.toContain(agent);
    expect((await admin("GET", "/v1/agents?status=fine")).status).toBe(400);
  });

  test("is listed with the cursor of its own status alone, unaltered", async () => {
    for (const _ of [1, 2]) await api.attest(name("agent"), { [name("scope")]: { hop_budget: 1 } });
    const cursor: string = (await admin("GET", "/v1/agents?limit=1")).body.page.next_cursor;
    for (const query of [
      `status=attested&cursor=${cursor}`,
      `cursor=${cursor.slice(1)}`,
      `cursor=${cursor}x`,
      "cursor=",
    ]) {
      const answer = await admin("GET", `/v1/agents?${query}`);
      expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
    }
  });

  test.each(["", "?name=", "?name=A", "?name=%25", "?name=a&name=b"])("is not resolved by %j", async (query) => {
    expect((await admin("GET", `/v1/agents/resolve${query}`)).status).toBe(400);
  });

  test("is resolved by its exact name alone", async () => {
    const agent = name("agent");
    const { body } = await api.attest(agent, { [name("scope")]: { hop_budget: 1 } });
    const resolved = await admin("GET", `/v1/agents/resolve?name=${agent}`);
    expect([resolved.status, resolved.body]).toEqual([200, { agent_id: body.agent_id, name: agent }]);
    const unknown = await admin("GET", `/v1/agents/resolve?name=${name("nobody")}`);
    expect([unknown.status, unknown.body.error.code]).toEqual([404, "agent_not_found"]);
  });

  test.each([unknownId, "x", "%27", "%25", "01900000-0000-7000-8000-00000000000G"])(
    "with the unknown id %s has no reconciliation: 404",
    async (id) => {
      const answer = await admin("GET", `/v1/agents/${id}/reconciliation`);
      expect([answer.status, answer.body.error.code]).toEqual([404, "agent_not_found"]);
    },
  );
});

describe("a name", () => {
  const conflict = (ref: string, declared: string, discovered: string) => ({
    ref,
    kind: "conflicts",
    declared,
    discovered,
  });
  const withTools = (scope: string, ...refs: string[]) => ({
    scopes: { [scope]: { hop_budget: 2, tools: refs.map((ref) => ({ ref, data_classes: ["finance"] })) } },
  });

  test("belongs to an agent or to a tool: a manifest that uses it as the other is rejected and claims no name", async () => {
    const [agent, tool, fresh, scope] = [name("agent"), name("tool"), name("fresh"), name("scope")];
    await register({ name: agent, manifest: withTools(scope, tool), override });
    expect(await register({ name: tool, manifest: withTools(scope), override })).toMatchObject({
      status: 422,
      body: { details: { diff: [conflict(tool, "agent", "tool")] } },
    });
    expect(await register({ name: name("other"), manifest: withTools(scope, fresh, agent), override })).toMatchObject({
      status: 422,
      body: { details: { diff: [{ ref: fresh, kind: "undiscovered" }, conflict(agent, "tool", "agent")] } },
    });
    expect((await register({ name: fresh, manifest: withTools(scope), override })).status).toBe(201);
  });

  test("cannot be that of the agent and of one of its tools", async () => {
    const own = name("own");
    expect((await register({ name: own, manifest: withTools(name("scope"), own), override })).status).toBe(422);
  });

  test("that two manifests claim at once, as an agent and as a tool, goes to one of them", async () => {
    const contested = name("contested");
    const answers = await Promise.all([
      register({ name: contested, manifest: withTools(name("scope")), override }),
      register({ name: name("contester"), manifest: withTools(name("scope"), contested), override }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422]);
  });
});
