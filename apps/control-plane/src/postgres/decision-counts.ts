import type { CountQuery, DecisionCount, DecisionCounts } from "../ports/decision-counts.ts";
import { bounded, type Sql } from "./database.ts";
import type { DecisionColumns } from "./decision-rows.ts";
import { withinSpan } from "./time-ordered-ids.ts";

export const decisionCounts = (sql: Sql, deadlineMs: number): DecisionCounts => ({
  count: (query) => bounded(deadlineMs, count(sql, query)),
});

interface CountRow extends Pick<DecisionColumns, "decision" | "deny_reason" | "enforced" | "taint"> {
  scope: string;
  bucket: Date;
  count: bigint;
}

/** Walks the index of time and no further than the bound; counted before the scopes are looked up. */
async function count(sql: Sql, { sinceMs, bucketMs, newest }: CountQuery): Promise<readonly DecisionCount[]> {
  const rows = await sql<CountRow[]>`
    with recent as materialized (
      select d.decided_at, d.decision, d.deny_reason, d.enforced, d.taint, d.session_id
      from decision d where true ${withinSpan(sql, { sinceMs }, sql`d.decided_at`, sql`d.action_id`)}
      order by d.decided_at desc limit ${newest}
    ), counted as (
      select session_id, decision, deny_reason, enforced, taint, count(*) as count,
        date_bin(${`${bucketMs} milliseconds`}::interval, decided_at, 'epoch') as bucket
      from recent group by session_id, decision, deny_reason, enforced, taint, bucket
    )
    select s.scope, c.decision, c.deny_reason, c.enforced, c.taint, c.bucket, sum(c.count)::bigint as count
    from counted c join session s using (session_id)
    group by s.scope, c.decision, c.deny_reason, c.enforced, c.taint, c.bucket`;
  return rows.map((row) => ({
    scope: row.scope,
    decision: row.decision,
    denyReason: row.deny_reason,
    enforced: row.enforced,
    taint: row.taint,
    bucketStartMs: row.bucket.getTime(),
    count: Number(row.count),
  }));
}
