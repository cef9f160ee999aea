import type { CountQuery, DecisionCount, DecisionCounts, ScopeCount } from "../ports/decision-counts.ts";
import { bounded, type Sql } from "./database.ts";
import type { DecisionColumns } from "./decision-rows.ts";
import { withinSpan } from "./time-ordered-ids.ts";

export const decisionCounts = (sql: Sql, deadlineMs: number): DecisionCounts => ({
  count: (query) => bounded(deadlineMs, count(sql, query)),
  observedByScope: (newest) => bounded(deadlineMs, observedByScope(sql, newest)),
});

interface CountRow extends Pick<DecisionColumns, "deny_reason" | "enforced" | "taint"> {
  scope: string;
  bucket: Date;
  count: bigint;
}

/**
 * Walks the index of time and no further than the bound; counted before the scopes are looked up. That the bound is a
 * subquery keeps it so: a log that only grows is ahead of its statistics, by which the span would seem to hold no more than
 * the bound, so that all of it would be read and sorted. Of a bound that it does not know, the planner expects a small part.
 */
async function count(sql: Sql, { sinceMs, bucketMs, newest }: CountQuery): Promise<readonly DecisionCount[]> {
  const rows = await sql<CountRow[]>`
    select s.scope, c.deny_reason, c.enforced, c.taint, c.bucket, sum(c.count)::bigint as count
    from (
      select session_id, deny_reason, enforced, taint, count(*) as count,
        date_bin(${`${bucketMs} milliseconds`}::interval, decided_at, 'epoch') as bucket
      from (
        select d.decided_at, d.deny_reason, d.enforced, d.taint, d.session_id
        from decision d where true ${withinSpan(sql, { sinceMs }, sql`d.decided_at`, sql`d.action_id`)}
        order by d.decided_at desc limit (select ${newest}::bigint)
      ) recent
      group by session_id, deny_reason, enforced, taint, bucket
    ) c join session s using (session_id)
    group by s.scope, c.deny_reason, c.enforced, c.taint, c.bucket`;
  return rows.map((row) => ({
    scope: row.scope,
    // A reason exists exactly for denies (contract: the audit's record; a constraint of the table).
    decision: row.deny_reason === null ? "allow" : "deny",
    denyReason: row.deny_reason,
    enforced: row.enforced,
    taint: row.taint,
    bucketStartMs: row.bucket.getTime(),
    count: Number(row.count),
  }));
}

/** Walks the index of denies that were observed, in whose words they are asked for, and no further than the bound. */
async function observedByScope(sql: Sql, newest: number): Promise<readonly ScopeCount[]> {
  const rows = await sql<{ scope: string; count: bigint }[]>`
    with recent as materialized (
      select d.session_id from decision d where not d.enforced and d.deny_reason is not null
      order by d.seq desc limit ${newest}
    )
    select s.scope, count(*) as count from recent join session s using (session_id)
    group by s.scope order by count desc, s.scope`;
  return rows.map(({ scope, count }) => ({ scope, count: Number(count) }));
}
