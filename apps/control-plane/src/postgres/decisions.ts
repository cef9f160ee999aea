import type { DecisionRecord, RecordedHop } from "@svc/core";
import { LRUCache } from "lru-cache";
import type { AuditReads, DecisionFilter, DecisionRow } from "../ports/audit-reads.ts";
import type { Committed, DecisionLog, Marking } from "../ports/decision-log.ts";
import type { Epochs } from "../ports/sessions.ts";
import type { Pool, Sql, Transaction } from "./database.ts";
import { type Append, insertDecisions, selectedColumns } from "./decision-rows.ts";
import { groupCommit } from "./group-commit.ts";
import { commitMarks } from "./marks.ts";
import { withinSpan } from "./time-ordered-ids.ts";

/** Most records are read within a second, by their exchange. Some 1 KiB each. */
const cachedRecords = 10_000;

export const decisionLog = (writer: Pool): DecisionLog => {
  // A committed record never changes.
  const committed = new LRUCache<string, DecisionRecord>({ max: cachedRecords });
  const appendPlain = groupCommit<Append, boolean>({
    write: (appends) => insertDecisions(writer.sql, appends),
    keysOf: () => [],
    deadlineMs: writer.deadlineMs,
  });
  const append = async (record: DecisionRecord, marking: Marking, epochs: Epochs): Promise<Committed | "stale"> => {
    if (marking.kind === "none") return (await appendPlain({ record, epochs })) ? { marks: 0 } : "stale";
    if (marking.kind === "marks") {
      const insert = (tx: Transaction, current: Epochs) => insertDecisions(tx, [{ record, epochs: current }]);
      return (await commitMarks(writer, { ...record, atMs: record.decidedAtMs }, marking, epochs, insert)) ?? "stale";
    }
    // In a statement of its own, since it waits for the session's lock.
    const [isInserted] = await writer.run((sql) => insertDecisions(sql, [{ record, epochs }], true));
    return isInserted ? { marks: 0 } : "stale";
  };
  return {
    async append(record, marking, epochs) {
      const outcome = await append(record, marking, epochs);
      if (outcome !== "stale") committed.set(record.actionId, record);
      return outcome;
    },
    async find(actionId) {
      const known = committed.get(actionId);
      if (known !== undefined) return known;
      const [record] = await writer.rows<DecisionRecord>`
        select ${writer.sql.unsafe(selectedColumns)} from decision d where d.action_id = ${actionId}`;
      return record;
    },
  };
};

export const decisionReads = ({ rows, sql }: Pool): Pick<AuditReads, "lineage" | "decisions"> => ({
  /** Looks up each parent alone, so that only its month is read. The bound stops a cycle, which only damage makes. */
  async lineage(actionId) {
    const found = await rows<DecisionRecord & { exchanged: boolean }>`
      with recursive up as (
        select d.*, 1 as depth from decision d where d.action_id = ${actionId}
        union all
        select d.*, up.depth + 1
        from up cross join lateral (select * from decision where action_id = up.parent_action_id limit 1) d
        where up.depth < 64
      )
      select ${sql.unsafe(selectedColumns)}, exists (select from spend s where s.action_id = d.action_id) as exchanged
      from up d order by d.depth`;
    const hops = found.map(({ exchanged, ...record }): RecordedHop => ({ record, exchanged }));
    const [action] = hops;
    return action && { action, reached: new Map(hops.map((hop) => [hop.record.actionId, hop])) };
  },
  async decisions({ filter, after, limit }) {
    const found = await rows<DecisionRecord & Omit<DecisionRow, "record">>`
      select ${sql.unsafe(selectedColumns)}, d.seq, s.spent_at as "spentAtMs", m.params_hash as "paramsHash"
      from (
        select d.* from decision d where ${conditions(sql, filter, after)} order by d.seq desc limit ${limit}
      ) d left join spend s on s.action_id = d.action_id left join mint m on m.action_id = d.action_id
      order by d.seq desc`;
    return found.map(({ seq, spentAtMs, paramsHash, ...record }) => ({ seq, record, spentAtMs, paramsHash }));
  },
});

/** The statement holds the given filters only, so that the planner finds their index. */
function conditions(sql: Sql, filter: DecisionFilter, after: bigint | undefined) {
  const { sessionId, agent, enforced, targetKind, taint, privileged } = filter;
  const given = [
    after !== undefined && sql`and d.seq < ${after}`,
    sessionId !== undefined && sql`and d.session_id = ${sessionId}`,
    agent !== undefined && sql`and d.acting_agent = ${agent}`,
    ...ofOutcome(sql, filter),
    enforced !== undefined && (enforced ? sql`and d.enforced` : sql`and not d.enforced`),
    targetKind !== undefined && sql`and d.target_kind = ${targetKind}`,
    taint !== undefined && sql`and d.taint = ${taint}`,
    privileged !== undefined && (privileged ? sql`and d.privileged` : sql`and not d.privileged`),
  ].flatMap((condition) => (condition === false ? [] : [condition]));
  return [sql`true`, withinSpan(sql, filter, sql`d.decided_at`, sql`d.action_id`), ...given];
}

/**
 * A deny has a reason and an allow has none (a constraint of the table). A partial index serves only the condition it is
 * written with: `deny_reason is not null` with an agent and for observed denies, `decision = 'deny'` otherwise.
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
