import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DecisionFilter, EventQuery } from "../src/ports/audit-reads.ts";
import { eventReads } from "../src/postgres/administrative-events.ts";
import { poolOf, type Sql } from "../src/postgres/database.ts";
import { decisionReads } from "../src/postgres/decisions.ts";
import { connectForAudit } from "../src/start/stores.ts";
import { recorder } from "./decision-rows.ts";
import { startPlane } from "./support.ts";

const plane = await startPlane();
const owner = postgres(plane.database.superuserUrl, { max: 1, onnotice: () => {} });
afterAll(async () => {
  await owner.end();
  await plane.stop();
});

const rows = 40_000;
const limit = 50;

/**
 * Ten agents take turns: 3 is always denied, 4 never, 5 is only observed, 6 calls no agent; every other is denied once in
 * a hundred calls.
 */
beforeAll(async () => {
  await owner`
    insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
      data_class, decision, deny_reason, recoverable, enforced, privileged, taint, policy_version, decided_at)
    select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || '7000' || left(md5(n::text), 16))::uuid, 2, md5((n / 100)::text)::uuid, 'authorize', 1, '{}', 'agent-' || n % 10, 'http:bench/read',
      case when n % 10 = 6 then 'tool' else 'agent' end, 'bench', case when is_denied then 'deny' else 'allow' end,
      case when is_denied then 'TARGET_NOT_DECLARED' end, false, n % 10 <> 5, false, 'trusted_internal', 1, now()
    from (select n, n % 10 = 3 or (n % 10 <> 4 and n / 10 % 100 = 7) as is_denied
      from generate_series(1, ${rows}) as n) as call`;
  await owner`analyze decision`;
});

interface Plan {
  readonly "Node Type": string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Plan[];
}

const rowsVisited = (plan: Plan): number => {
  const below = (plan.Plans ?? []).reduce((sum, child) => sum + rowsVisited(child), 0);
  const own =
    plan["Node Type"].includes("Scan") && plan["Node Type"] !== "Bitmap Heap Scan"
      ? plan["Actual Rows"] + (plan["Rows Removed by Filter"] ?? 0)
      : 0;
  return below + own * plan["Actual Loops"];
};

/** The plan of the statement that is sent, on a connection that has sent it often enough for a generic plan. */
async function planOf(ask: (sql: Sql) => Promise<unknown>, isMeant = /\bfrom decision\b/): Promise<Plan> {
  const sql = connectForAudit(plane.database.appUrl, 1);
  let values: readonly unknown[] = [];
  sql.options.debug = (_connection, text, sent) => {
    if (isMeant.test(text)) values = sent;
  };
  try {
    for (let times = 0; times < 8; times++) await ask(sql);
    const prepared = await sql<
      { name: string; statement: string }[]
    >`select name, statement from pg_prepared_statements`;
    const name = prepared.find(({ statement }) => isMeant.test(statement))?.name;
    const given = values.length === 0 ? "" : `(${values.map((value) => `'${value}'`).join()})`;
    const [row] = await sql.unsafe(`explain (analyze, format json) execute "${name}"${given}`);
    return row?.["QUERY PLAN"][0].Plan;
  } finally {
    await sql.end();
  }
}

const visitedBy = async (filter: DecisionFilter): Promise<number> =>
  rowsVisited(await planOf((sql) => decisionReads(poolOf(sql, 5_000)).decisions({ filter, after: undefined, limit })));

describe("a page of decisions reads at most 20 rows of the log for each row it shows", () => {
  const cases: readonly [string, DecisionFilter][] = [
    ["of everything", {}],
    ["of a session", { sessionId: "c81e728d-9d4c-2f63-6f06-7f89cc14862c" }],
    ["of an agent", { agent: "agent-1" }],
    ["of denies", { outcome: "deny" }],
    ["for a reason", { denyReason: "TARGET_NOT_DECLARED" }],
    ["for a reason without a decision", { denyReason: "SESSION_EXPIRED" }],
    ["for allows with a deny reason", { denyReason: "TARGET_NOT_DECLARED", outcome: "allow" }],
    ["of observed calls", { enforced: false }],
    ["of observed denies", { enforced: false, outcome: "deny" }],
    ["of an agent that is always denied", { agent: "agent-3", outcome: "deny" }],
    ["of the denies of an agent without denies", { agent: "agent-4", outcome: "deny" }],
    ["of the denies of an agent with few denies", { agent: "agent-1", denyReason: "TARGET_NOT_DECLARED" }],
    ["of privileged calls, where there are none", { privileged: true }],
    ["of tainted calls, where there are none", { taint: "untrusted_external" }],
  ];
  test.each(cases)("%s", async (_which, filter) => {
    expect(await visitedBy(filter)).toBeLessThanOrEqual(20 * limit);
  });
});

describe("a page without matching decisions reads at most a tenth of the log", () => {
  const cases: readonly [string, DecisionFilter][] = [
    ["of the allows of an agent that is always denied", { agent: "agent-3", outcome: "allow" }],
    ["of the enforced calls of an agent that is only observed", { agent: "agent-5", enforced: true }],
    ["of the observed calls of an agent that is enforced", { agent: "agent-1", enforced: false }],
    ["of the delegations of an agent without delegations", { agent: "agent-6", targetKind: "agent" }],
  ];
  test.each(cases)("%s", async (_which, filter) => {
    expect(await visitedBy(filter)).toBeLessThanOrEqual(rows / 10);
  });
});

describe("a page of the events of one actor reads a page of rows of each source, whatever the statistics say", () => {
  beforeAll(async () => {
    const { sql, consent } = await recorder(plane);
    const session = await consent("expenses", "quentin");
    await sql.end();
    // Three by "quentin", then nine actors in turns, and the newest tenth by one: what is older lies behind all that.
    await owner`
      insert into administrative_event (event_id, kind, ts, actor)
      select (lpad(to_hex(n), 12, '0') || '70008000000000000000')::uuid, 'block_set', now(),
        case when n <= 3 then 'quentin' when n > ${0.9 * rows} then 'newest bearer' else 'bearer-' || n % 9 end
      from generate_series(1, ${rows}) n`;
    await owner`
      insert into spend (jti_hash, session_id, kind, spent_at, renewal_id, actor, agent)
      select sha256(n::text::bytea), case when n <= 3 then ${session} else md5((n % 9)::text) end::uuid, 'renewal', now(),
        (lpad(to_hex(n), 12, '0') || '70008000000000000001')::uuid, coalesce(agent, 'quentin'), agent
      from (select n, case when n > ${0.9 * rows} then 'newest agent' when n > 3 then 'agent-' || n % 9 end as agent
        from generate_series(1, ${rows}) n) renewal`;
    await owner`analyze administrative_event, spend`;
  });
  test.each<[string, Pick<EventQuery, "actor" | "kind">]>([
    ["that acts now", { actor: "newest bearer" }],
    ["that acted long ago", { actor: "bearer-1" }],
    ["that renews now", { actor: "newest agent" }],
    ["that renewed long ago", { actor: "agent-1" }],
    ["that renewed long ago, of renewals", { actor: "agent-1", kind: "token_renewed" }],
    ["that did little, long ago", { actor: "quentin" }],
    ["that did little, of a kind", { actor: "quentin", kind: "block_set" }],
    ["that did nothing", { actor: "nadia" }],
  ])("%s", async (_which, query) => {
    const ask = (sql: Sql) => eventReads(poolOf(sql, 5_000)).events({ ...query, limit, after: undefined });
    const plan = await planOf(ask, /from (administrative_event|spend)/);
    expect(rowsVisited(plan)).toBeLessThanOrEqual(limit + 10);
  });
});

test.each(["decision_in_order", "decision_by_agent"])(
  "the index %s is less than a quarter larger than after a reindex",
  async (index) => {
    const size = async () => {
      const [row] = await owner<{ size: number }[]>`
      select sum(pg_relation_size(inhrelid))::int as size from pg_inherits where inhparent = ${index}::regclass`;
      return row?.size ?? 0;
    };
    const grown = await size();
    await owner.unsafe(`reindex index ${index}`);
    expect(grown).toBeLessThan(1.25 * (await size()));
  },
);

test("the partition of a later month has the same statistics", async () => {
  const [counts] = await owner`
    select count(*)::int as months, count(e.oid)::int as analyzed from pg_inherits i
    left join pg_statistic_ext e on e.stxrelid = i.inhrelid where i.inhparent = 'decision'::regclass`;
  await owner`select make_decision_partition('2050-01-01')`;
  const [later] =
    await owner`select count(*)::int as analyzed from pg_statistic_ext where stxrelid = 'decision_2050_01'::regclass`;
  expect({ ...counts, later: later?.analyzed }).toEqual({ months: counts?.months, analyzed: counts?.months, later: 1 });
});
