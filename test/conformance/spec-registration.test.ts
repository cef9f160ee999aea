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
const submit = (body: object) => admin("POST", "/v1/manifests", body);
const idOf = async (agent: string): Promise<string> =>
  (await admin("GET", `/v1/agents/resolve?name=${agent}`)).body.agent_id;

describe("a manifest that discovery answers for", () => {
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

  test.skipIf(!has.loopbackDiscovery)("is reconciled where it matches: 201 (needs loopback discovery)", async () => {
    const [agent, scope] = [name("agent"), name("scope")];
    const manifest = declared(scope, `http:${scope}/read`);
    advertised = capabilitiesOf(manifestOf(scope, `http:${scope}/read`));
    const { status, body } = await register({ name: agent, manifest });
    expect({ status, body }).toEqual({
      status: 201,
      body: { agent_id: expect.any(String), manifest_version: 1, status: "reconciled" },
    });
    const report = await admin("GET", `/v1/agents/${body.agent_id}/reconciliation`);
    expect(report.body).toMatchObject({ manifest_version: 1, status: "reconciled", discovery_ok: true, diff: [] });
    expect((await admin("GET", `/v1/manifests/${scope}`)).body.attested_by).toBe("discovery");
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
    },
  );
});

describe("a manifest that discovery does not answer for", () => {
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
  });

  test("is stored with an override, whose reason stays with that version", async () => {
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

  test("is never read from an address inside: the source counts as not answering", async () => {
    for (const url of ["http://169.254.169.254/latest", "http://[::ffff:169.254.169.254]/", "http://10.0.0.1/"]) {
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
    for (const agent of agents) {
      expect(seen.get(agent)).toEqual({
        id: await idOf(agent),
        name: agent,
        latest_manifest_version: 1,
        latest_status: "attested",
      });
    }
  });

  test.each([unknownId, "x", "%27"])("of id %s does not exist: its reconciliation is 404", async (id) => {
    const answer = await admin("GET", `/v1/agents/${id}/reconciliation`);
    expect([answer.status, answer.body.error.code]).toEqual([404, "agent_not_found"]);
  });
});

describe("manifests", () => {
  test("of an agent never registered are 404", async () => {
    const answer = await submit({ agent: name("nobody"), manifest: manifestOf(name("scope"), "http:x/y"), override });
    expect([answer.status, answer.body.error.code]).toEqual([404, "agent_not_found"]);
  });

  test("are appended, never edited, and read back to the byte", async () => {
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

  test("of an unknown scope or version are 404", async () => {
    const scope = name("scope");
    const unknown = await admin("GET", `/v1/manifests/${scope}`);
    expect([unknown.status, unknown.body.error.code]).toEqual([404, "scope_not_found"]);
    await api.attest(name("agent"), { [scope]: { hop_budget: 1 } });
    const version = await admin("GET", `/v1/manifests/${scope}?version=2`);
    expect([version.status, version.body.error.code]).toEqual([404, "manifest_version_not_found"]);
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
  });

  test.each([
    ["no name", { name: undefined }],
    ["an unknown member", { nmae: "x" }],
    ["a name of another alphabet", { name: "Ägent" }],
    ["a name with NUL", { name: "a\0" }],
    ["an override that is text", { override: "because" }],
    ["a manifest that is a list", { manifest: [] }],
    ["a budget of 0", { manifest: { scopes: { s: { hop_budget: 0 } } } }],
    ["a budget of 33", { manifest: { scopes: { s: { hop_budget: 33 } } } }],
    [
      "a misspelt access",
      { manifest: { scopes: { s: { hop_budget: 1, tools: [{ ref: "a", data_classes: ["b"], acess: "read" }] } } } },
    ],
    ["a scope with NUL", { manifest: { scopes: { "a\0b": { hop_budget: 1 } } } }],
  ])("with %s are malformed", async (_case, change) => {
    const answer = await register({ name: name("agent"), manifest: manifestOf("s", "http:x/y"), override, ...change });
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
    expect(answer.body.details.issues[0]).toEqual({ path: expect.any(String), message: expect.any(String) });
  });

  test("of 5 MB are too large", async () => {
    const answer = await register({ name: name("agent"), manifest: { scopes: {}, x: "x".repeat(5_000_000) } });
    expect([answer.status, answer.body.error.code]).toEqual([413, "payload_too_large"]);
  });
});

describe("the catalog of a scope", () => {
  test("shows what consenting grants, without paths, and keeps every version", async () => {
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
});
