import { aManifest, aTool, type ScopeDocument } from "@svc/test-support";
import { afterAll, expect, test } from "vitest";
import { recorder } from "./decision-rows.ts";
import { startPlane, tokens } from "./support.ts";

const plane = await startPlane();
const records = await recorder(plane);
afterAll(async () => {
  await records.sql.end();
  await plane.stop();
});

interface ReplayPage {
  readonly changes: readonly {
    readonly target: string;
    readonly becomes: string;
    readonly deny_reason: string | null;
    readonly count: number;
    readonly action_ids: readonly string[];
  }[];
  readonly read: number;
  readonly judged: number;
  readonly next_cursor: string | null;
}

const tool = aTool("http:ledger/post");
const scopeOf = (n: number) => `scope-${n}`;
let names = 0;

async function anAgent() {
  const agent = `agent-${++names}`;
  await records.register(agent, scopeOf(names));
  const session_id = await records.consent(scopeOf(names));
  const { action_id: parent } = await records.record({ session_id, target: agent });
  const call = { session_id, acting_agent: agent, hop: 2, chain: [agent], parent_action_id: parent, target: tool.ref };
  const denied = { decision: "deny", deny_reason: "TARGET_NOT_DECLARED", target_kind: "tool" };
  return { agent, scope: scopeOf(names), aCall: (changes = {}) => records.aRow({ ...call, ...denied, ...changes }) };
}

const record = async (rows: readonly object[]) => {
  await records.sql`insert into decision ${records.sql(rows as never)}`;
};

async function replay(agent: string, scope: string, changes: Partial<ScopeDocument>, more: object = {}) {
  const manifest = aManifest(scope, { tools: [tool], ...changes });
  return plane.send("/v1/audit/replay", { token: tokens.audit, body: { agent, manifest, scope, ...more } });
}

const changesOf = async (...asked: Parameters<typeof replay>) => {
  const { json, status } = await replay(...asked);
  expect(status).toBe(200);
  return (json as unknown as ReplayPage).changes.map(({ becomes, deny_reason, count }) => [
    becomes,
    deny_reason,
    count,
  ]);
};

const allowed = { decision: "allow", deny_reason: null };

test.each<[string, object, (string | number | null)[][]]>([
  ["a deny that a declaration admits", {}, [["allow", "TARGET_NOT_DECLARED", 1]]],
  ["a deny by a recorded block", { present: { blocks: [{ kind: "tool", ref: tool.ref }] } }, []],
  ["a deny by a recorded revocation", { present: { revoked: true } }, []],
  ["a deny of a class that is not declared", { data_class: "crm" }, []],
  [
    "an allow of a class that is not declared",
    { ...allowed, data_class: "crm" },
    [["deny", "DATA_CLASS_NOT_DECLARED", 1]],
  ],
  ["a deny of a chain that is not declared", { hop: 3, chain: ["nobody", "planner"] }, []],
  ["a deny whose parent has no record", { parent_action_id: null }, []],
  ["an allow whose parent has no record", { ...allowed, parent_action_id: null }, []],
])("%s is decided by the policy and the recorded facts", async (_, changes, expected) => {
  const { agent, scope, aCall } = await anAgent();
  await record([aCall(changes)]);
  expect(await changesOf(agent, scope, {}, { acting_agent: agent })).toEqual(expected);
});

test("the recorded taint counts, not what would be marked now", async () => {
  const { agent, scope, aCall } = await anAgent();
  await record([aCall({ ...allowed, taint: "untrusted_external" }), aCall(allowed)]);
  const strict = { tools: [{ ...tool, accepts_taint: false }] };
  expect(await changesOf(agent, scope, strict, { acting_agent: agent })).toEqual([["deny", "TAINT_BLOCKED", 1]]);
});

test("the candidate is compiled with the accepted manifests of the scope's other agents", async () => {
  const { agent, scope, aCall } = await anAgent();
  const manifest = aManifest(scope, { downstream_agents: [agent], entry: true });
  await plane.send("/v1/agents", { body: { name: `${agent}-lead`, manifest, override: {} } });
  const { action_id: parent } = await records.record({
    ...{
      session_id: aCall().session_id,
      acting_agent: `${agent}-lead`,
      hop: 2,
      chain: [`${agent}-lead`],
      target: agent,
    },
  });
  await record([aCall({ hop: 3, chain: [`${agent}-lead`, agent], parent_action_id: parent })]);
  const filter = { acting_agent: agent };
  expect(await changesOf(agent, scope, {}, filter)).toEqual([["allow", "TARGET_NOT_DECLARED", 1]]);
  expect(await changesOf(agent, scope, { hop_budget: 2 }, filter)).toEqual([]);
});

test("a long record is replayed page by page, each decision once", async () => {
  const { agent, scope, aCall } = await anAgent();
  for (let piece = 0; piece < 6; piece++) {
    await record(Array.from({ length: 1_000 }, (_, n) => (n % 2 === 0 ? aCall() : aCall(allowed))));
  }
  const pages: ReplayPage[] = [];
  let cursor: string | null | undefined;
  do {
    const { json } = await replay(agent, scope, {}, { acting_agent: agent, ...(cursor && { cursor }) });
    pages.push(json as unknown as ReplayPage);
    cursor = pages.at(-1)?.next_cursor;
  } while (cursor != null);
  expect(pages.map(({ read, judged }) => [read, judged])).toEqual([
    [5_000, 5_000],
    [1_000, 1_000],
  ]);
  const admitted = pages.flatMap(({ changes }) => changes);
  expect(admitted.reduce((sum, { count }) => sum + count, 0)).toBe(3_000);
  for (const { becomes, action_ids } of admitted) expect([becomes, action_ids.length]).toEqual(["allow", 3]);
});

test("a cursor is refused once the candidate or a manifest of its scopes changed", async () => {
  const { agent, scope, aCall } = await anAgent();
  for (let piece = 0; piece < 6; piece++) await record(Array.from({ length: 1_000 }, () => aCall()));
  const filter = { acting_agent: agent };
  const { json } = await replay(agent, scope, {}, filter);
  const next = { ...filter, cursor: json.next_cursor };
  const codeOf = async (changes: Partial<ScopeDocument>) => {
    const { status, json } = await replay(agent, scope, changes, next);
    return [status, json.error?.code];
  };
  expect(await codeOf({})).toEqual([200, undefined]);
  expect(await codeOf({ hop_budget: 3 })).toEqual([409, "policy_version_changed"]);
  const manifest = aManifest(scope, { tools: [tool] });
  await plane.send("/v1/agents", { body: { name: `${agent}-too`, manifest, override: {} } });
  expect(await codeOf({})).toEqual([409, "policy_version_changed"]);
});

test("a manifest that is not this service's is never compiled in", async () => {
  const { agent, scope, aCall } = await anAgent();
  await record([aCall()]);
  await records.sql`
    insert into manifest_version (agent_id, version, status, attested_by, doc, created_at, mac)
    select agent_id, 2, 'attested', 'human:x', ${JSON.stringify(aManifest(scope, { tools: [tool] }))}, now(), 'forged'
    from agent where name = ${agent}`;
  await records.sql`insert into manifest_scope (agent_id, version, scope) select agent_id, 2, ${scope} from agent where name = ${agent}`;
  const { status, json } = await replay(agent, scope, {});
  expect([status, json.error?.code]).toEqual([503, "database_unavailable"]);
});
