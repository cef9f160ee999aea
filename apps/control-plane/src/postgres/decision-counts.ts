import type { DecisionCount, ScopeCount } from "@svc/core";
import type { AuditReads } from "../ports/audit-reads.ts";
import type { Pool } from "./database.ts";
import { withinSpan } from "./time-ordered-ids.ts";

export const decisionCounts = ({ rows, sql }: Pool): Pick<AuditReads, "countDecisions" | "observedByScope"> => ({
  /**
   * Counts before it joins the scopes. The bound is a subquery, so that the planner expects a small part and walks the
   * index of time: of a growing log its statistics would suggest to read and sort the whole span.
   */
  countDecisions: ({ sinceMs, bucketMs, newest }) => rows<DecisionCount>`
    select s.scope, case when c.deny_reason is null then 'allow' else 'deny' end as decision,
      c.deny_reason as "denyReason", c.enforced, c.taint, c.bucket as "bucketStartMs", sum(c.count)::float8 as count
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
    group by s.scope, c.deny_reason, c.enforced, c.taint, c.bucket`,
  /** The condition is written as its partial index has it. */
  observedByScope: (newest) => rows<ScopeCount>`
    with recent as materialized (
      select d.session_id from decision d where not d.enforced and d.deny_reason is not null
      order by d.seq desc limit ${newest}
    )
    select s.scope, count(*)::float8 as count from recent join session s using (session_id)
    group by s.scope order by count desc, s.scope`,
});
