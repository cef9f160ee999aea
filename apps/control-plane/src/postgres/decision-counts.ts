import type { DecisionCount, ScopeCount, WouldBlock } from "@svc/core";
import type { AuditReads, WouldBlockPosition } from "../ports/audit-reads.ts";
import type { Pool, Sql } from "./database.ts";
import { withinSpan } from "./time-ordered-ids.ts";

export const decisionCounts = ({
  rows,
  sql,
}: Pool): Pick<AuditReads, "countDecisions" | "observedByScope" | "wouldBlocks"> => ({
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
  /** Groups in the order of an index, so that it reads the rows of one page's groups only. */
  async wouldBlocks({ scope, after, limit, ...span }) {
    const groups = await rows<WouldBlock & { classHash: string; denyReason: string }>`
      select d.acting_agent as "actingAgent", d.target, d.target_kind as "targetKind", d.deny_reason as "denyReason",
        md5(d.data_class) as "classHash", min(d.data_class) as "dataClass", count(*)::float8 as count,
        min(d.decided_at) as "firstMs", max(d.decided_at) as "lastMs"
      from decision d
      where not d.enforced and d.decision = 'deny'
        ${after === undefined ? sql`` : isBehind(sql, after)}
        ${withinSpan(sql, span, sql`d.decided_at`, sql`d.action_id`)}
        ${scope === undefined ? sql`` : isUnder(sql, scope)}
      group by d.acting_agent, d.target, d.target_kind, d.deny_reason, md5(d.data_class)
      order by d.acting_agent, d.target, d.target_kind, d.deny_reason, md5(d.data_class)
      limit ${limit}`;
    return groups.map(({ classHash, ...group }) => ({
      ...group,
      position: [group.actingAgent, group.target, group.targetKind, group.denyReason, classHash],
    }));
  },
});

const isBehind = (sql: Sql, [agent, target, kind, reason, classHash]: WouldBlockPosition) => sql`
  and (d.acting_agent, d.target, d.target_kind, d.deny_reason, md5(d.data_class))
    > (${agent}, ${target}, ${kind}, ${reason}, ${classHash})`;

const isUnder = (sql: Sql, scope: string) => sql`
  and exists (select from session s where s.session_id = d.session_id and s.scope = ${scope})`;
