import { aManifest, aTool } from "@svc/test-support";
import { afterAll, expect, test } from "vitest";
import { query, registerAgent, startPlane, type TestApp } from "./support.ts";

const plane = await startPlane();
afterAll(() => plane.stop());
const register = (name: string, manifest: object, app = plane as TestApp) => registerAgent(app, name, manifest);
const rows = <Row extends object>(text: string, ...values: string[]) => query<Row>(plane.database.appUrl, text, values);

test("a registration that needs review keeps its report, and creates neither an agent nor a policy", async () => {
  const manifest = aManifest("unreviewed", { tools: [aTool("http:b/read")] });
  const answer = await plane.send("/v1/agents", { body: { name: "unreviewed-agent", manifest } });
  expect(answer.status).toBe(409);
  const [report] = await rows("select * from reconciliation_report where agent_name = $1", "unreviewed-agent");
  expect(report).toMatchObject({ status: "needs_review", agent_id: null });
  expect(await rows("select 1 from agent where name = $1", "unreviewed-agent")).toEqual([]);
  expect(await rows("select 1 from compiled_policy where scope = $1", "unreviewed")).toEqual([]);
});

test("a server's name that no manifest can declare is in the report, whatever its characters", async () => {
  const source = { kind: "mcp", name: "odd", url: "https://odd.test/mcp" } as const;
  const names = ["read", "post entry", "a\u0000b", "a\ud800", "x".repeat(100_000)];
  const tools = names.map((name) => ({ ref: `mcp:odd/${name}` }));
  const app = plane.with({
    discover: async () => [
      { source, origin: "https://odd.test", discovered: { ok: true, tools }, facts: { credentials: "none" } },
    ],
  });
  const manifest = { ...aManifest("odd", { tools: [aTool("mcp:odd/read")] }), discovery: source };
  const { status, json } = await register("odd-agent", manifest, app);
  expect([status, json.status]).toEqual([201, "reconciled"]);
  const report = await plane.send(`/v1/agents/${json.agent_id}/reconciliation`);
  expect(report.json).toMatchObject({ status: "reconciled", discovery_ok: true });
  const undeclarable = (ref: unknown) => expect.objectContaining({ kind: "undeclarable", ref });
  expect(report.json.diff).toEqual([
    undeclarable("mcp:odd/post entry"),
    undeclarable("mcp:odd/a\ufffdb"),
    undeclarable("mcp:odd/a\ufffd"),
    undeclarable(expect.stringMatching(/^mcp:odd\/x+…$/)),
  ]);
});

test("a registration of a registered name is rejected before discovery contacts a source", async () => {
  await register("taken-agent", aManifest("taken"));
  let discoveries = 0;
  const app = plane.with({
    discover: async () => {
      discoveries += 1;
      return [];
    },
  });
  const answer = await register("taken-agent", aManifest("taken"), app);
  expect(answer).toMatchObject({ status: 409, json: { error: { code: "agent_exists" } } });
  expect(discoveries).toBe(0);
});

test("a scope with too many paths is rejected, and changes no scope of the manifest", async () => {
  const layers = 7;
  const layer = (depth: number) => Array.from({ length: 5 }, (_, n) => `layer-${depth}-${n}`);
  let rejected: Awaited<ReturnType<typeof register>> | undefined;
  for (let depth = layers; depth >= 0 && rejected === undefined; depth--) {
    for (const name of layer(depth)) {
      const downstream_agents = depth === layers ? [] : layer(depth + 1);
      const { scopes } = aManifest("wide", { hop_budget: 32, downstream_agents });
      // "beside" is compiled first, so that there is a policy to roll back.
      const answer = await register(name, { scopes: { ...aManifest("beside").scopes, ...scopes } });
      if (answer.status !== 201) rejected = answer;
    }
  }
  expect(rejected).toMatchObject({
    status: 422,
    json: {
      error: { code: "policy_too_large" },
      details: { scope: "wide", branching_agents: expect.arrayContaining(["layer-6-0"]) },
    },
  });
  const stored = await rows<{ name: string }>("select name from agent where name like 'layer-%'");
  for (const scope of ["wide", "beside"]) {
    const text = "select document from compiled_policy where scope = $1 order by version desc limit 1";
    const [policy] = await rows<{ document: string }>(text, scope);
    const compiled = Object.keys(JSON.parse(policy?.document ?? "null").agents);
    expect(compiled.toSorted(), scope).toEqual(stored.map(({ name }) => name).toSorted());
  }
});
