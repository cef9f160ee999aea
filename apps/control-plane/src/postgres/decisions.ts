import type { DecisionRecord, RecordedHop } from "@svc/core";
import { LRUCache } from "lru-cache";
import type {
  Committed,
  DecisionFilter,
  DecisionLog,
  DecisionQuery,
  DecisionReads,
  DecisionRow,
  Lineage,
  Marking,
} from "../ports/decision-log.ts";
import type { Epochs } from "../ports/session-state.ts";
import { bounded, type Sql, type Transaction } from "./database.ts";
import { type Append, insertDecisions } from "./decision-inserts.ts";
import { type DecisionColumns, recordColumns, toRecord } from "./decision-rows.ts";
import { groupCommit } from "./group-commit.ts";
import { Stale, setMarks, staleIfRolledBack } from "./marks.ts";
import { withinSpan } from "./time-ordered-ids.ts";

/** Records that were just committed: most are asked for within the second, by their exchange. Some 1 KiB each. */
const rememberedRecords = 10_000;

export const decisionLog = (writer: Sql, commitDeadlineMs: number): DecisionLog => {
  // Records never change, so one that was committed may be answered without asking again.
  const committed = new LRUCache<string, DecisionRecord>({ max: rememberedRecords });
  const appendPlain = groupCommit<Append, boolean>({
    write: (appends) => insertDecisions(writer, appends),
    keysOf: () => [],
    deadlineMs: commitDeadlineMs,
  });
  const append = async (record: DecisionRecord, marking: Marking, epochs: Epochs): Promise<Committed | "stale"> => {
    if (marking.kind === "none") return (await appendPlain({ record, epochs })) ? { marks: 0 } : "stale";
    return bounded(commitDeadlineMs, appendLocking(writer, { record, epochs }, marking));
  };
  return {
    async append(record, marking, epochs) {
      const outcome = await append(record, marking, epochs);
      if (outcome !== "stale") committed.set(record.actionId, record);
      return outcome;
    },
    find: async (actionId) => committed.get(actionId) ?? bounded(commitDeadlineMs, find(writer, actionId)),
  };
};

export const decisionReads = (sql: Sql, deadlineMs: number): DecisionReads => ({
  lineage: (actionId) => bounded(deadlineMs, lineage(sql, actionId)),
  page: (query) => bounded(deadlineMs, page(sql, query)),
});

/** Alone, since it waits for its session's lock. */
async function appendLocking(
  sql: Sql,
  append: Append,
  marking: Exclude<Marking, { kind: "none" }>,
): Promise<Committed | "stale"> {
  if (marking.kind === "marks") {
    return sql.begin((tx) => appendMarking(tx, append, marking)).catch(staleIfRolledBack);
  }
  const [isInserted] = await insertDecisions(sql, [append], true);
  return isInserted ? { marks: 0 } : "stale";
}

async function appendMarking(
  tx: Transaction,
  { record, epochs }: Append,
  marking: Extract<Marking, { kind: "marks" }>,
): Promise<Committed> {
  const action = { sessionId: record.sessionId, actionId: record.actionId, atMs: record.decidedAtMs };
  const set = await setMarks(tx, action, marking, epochs);
  const [isInserted] = await insertDecisions(tx, [{ record, epochs: set.epochs }]);
  if (!isInserted) throw new Stale();
  return { marks: set.marks };
}

async function find(sql: Sql, actionId: string): Promise<DecisionRecord | undefined> {
  const [row] = await sql<DecisionColumns[]>`
    select ${recordColumns(sql)} from decision d where d.action_id = ${actionId}`;
  return row && toRecord(row);
}

interface LineageRow extends DecisionColumns {
  exchanged: boolean;
}

/**
 * Up through the parents in one query, each looked up by itself, so that only its own month is touched. A chain is at most
 * 32 hops; the bound stops a cycle that only damage could make.
 */
async function lineage(sql: Sql, actionId: string): Promise<Lineage | undefined> {
  const rows = await sql<LineageRow[]>`
    with recursive up as (
      select d.*, 1 as depth from decision d where d.action_id = ${actionId}
      union all
      select d.*, up.depth + 1
      from up cross join lateral (select * from decision where action_id = up.parent_action_id limit 1) d
      where up.depth < 64
    )
    select ${recordColumns(sql)}, exists (select from spend s where s.action_id = d.action_id) as exchanged
    from up d order by d.depth`;
  const hops = rows.map((row): RecordedHop => ({ record: toRecord(row), exchanged: row.exchanged }));
  const [action] = hops;
  return action && { action, reached: new Map(hops.map((hop) => [hop.record.actionId, hop])) };
}

interface PageRow extends DecisionColumns {
  seq: bigint;
  spent_at: Date | null;
  params_hash: string | null;
}

async function page(sql: Sql, { filter, beforeSeq, limit }: DecisionQuery): Promise<readonly DecisionRow[]> {
  const rows = await sql<PageRow[]>`
    select ${recordColumns(sql)}, d.seq, s.spent_at, m.params_hash
    from (
      select d.* from decision d where ${conditions(sql, filter, beforeSeq)} order by d.seq desc limit ${limit}
    ) d left join spend s on s.action_id = d.action_id left join mint m on m.action_id = d.action_id
    order by d.seq desc`;
  return rows.map((row) => ({
    seq: row.seq,
    record: toRecord(row),
    spentAtMs: row.spent_at?.getTime() ?? null,
    paramsHash: row.params_hash,
  }));
}

/** Only what is asked stands in the statement, so that the planner finds the index of each filter. */
function conditions(sql: Sql, filter: DecisionFilter, beforeSeq: bigint | undefined) {
  const { sessionId, agent, enforced, targetKind, taint, privileged } = filter;
  const asked = [
    beforeSeq !== undefined && sql`and d.seq < ${beforeSeq}`,
    sessionId !== undefined && sql`and d.session_id = ${sessionId}`,
    agent !== undefined && sql`and d.acting_agent = ${agent}`,
    ...ofOutcome(sql, filter),
    enforced !== undefined && (enforced ? sql`and d.enforced` : sql`and not d.enforced`),
    targetKind !== undefined && sql`and d.target_kind = ${targetKind}`,
    taint !== undefined && sql`and d.taint = ${taint}`,
    privileged !== undefined && (privileged ? sql`and d.privileged` : sql`and not d.privileged`),
  ].flatMap((condition) => (condition === false ? [] : [condition]));
  return [sql`true`, withinSpan(sql, filter, sql`d.decided_at`, sql`d.action_id`), ...asked];
}

/**
 * A reason exists exactly for denies (a constraint of the table), so there are two ways to say that a row is one, and an
 * index of denies serves only the statements that say it in its own way: `deny_reason is not null` those of an agent and
 * those that were observed, `decision = 'deny'` the rest. Whichever is said, the planner is left no index that would have
 * it read what it does not show.
 */
function ofOutcome(sql: Sql, { agent, outcome, denyReason, enforced }: DecisionFilter) {
  if (outcome === "allow") return [sql`and d.decision = 'allow'`, denyReason != null && sql`and false`];
  if (outcome === undefined && denyReason == null) return [];
  const hasIndexOfReasons = agent !== undefined || enforced === false;
  return [
    hasIndexOfReasons ? sql`and d.deny_reason is not null` : sql`and d.decision = 'deny'`,
    denyReason != null && sql`and d.deny_reason = ${denyReason}`,
  ];
}
