import type { DecisionRecord, RecordedHop } from "@svc/core";
import { LRUCache } from "lru-cache";
import type { AuditReads } from "../ports/audit-reads.ts";
import type { Committed, DecisionLog, Marking } from "../ports/decision-log.ts";
import type { Epochs } from "../ports/sessions.ts";
import type { Pool, Transaction } from "./database.ts";
import { decisionPages } from "./decision-pages.ts";
import { type Append, insertDecisions, selectedColumns } from "./decision-rows.ts";
import { groupCommit } from "./group-commit.ts";
import { commitMarks } from "./marks.ts";

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
  decisions: decisionPages({ rows, sql }),
});
