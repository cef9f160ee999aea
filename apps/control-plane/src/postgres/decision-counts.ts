import type { CallCount, DecisionCount, PersonCount } from "@svc/core";
import type { AuditReads } from "../ports/audit-reads.ts";
import type { Pool } from "./database.ts";
import { recentDecisions } from "./recent-decisions.ts";

type Counts = "countDecisions" | "countCalls" | "countPeople";

export const decisionCounts = ({ rows, sql }: Pool): Pick<AuditReads, Counts> => ({
  /** Counts before it joins the scopes. */
  countDecisions: ({ bucketMs, ...recent }) => rows<DecisionCount>`
    select s.scope, case when c.deny_reason is null then 'allow' else 'deny' end as decision,
      c.deny_reason as "denyReason", c.enforced, c.taint, c.bucket as "bucketStartMs", sum(c.count)::float8 as count
    from (
      select session_id, deny_reason, enforced, taint, count(*) as count,
        date_bin(${`${bucketMs} milliseconds`}::interval, decided_at, 'epoch') as bucket
      from (${recentDecisions(sql, recent, sql`d.decided_at, d.deny_reason, d.enforced, d.taint, d.session_id`)}) recent
      group by session_id, deny_reason, enforced, taint, bucket
    ) c join session s using (session_id)
    group by s.scope, c.deny_reason, c.enforced, c.taint, c.bucket`,
  countCalls: (recent) => rows<CallCount>`
    select acting_agent as "actingAgent", hop = 1 as "byPerson", target, target_kind as "targetKind",
      case when deny_reason is null then 'allow' else 'deny' end as decision, deny_reason as "denyReason", enforced,
      count(*)::float8 as count, min(decided_at) as "firstMs", max(decided_at) as "lastMs"
    from (${recentDecisions(sql, recent, sql`d.decided_at, d.acting_agent, d.hop, d.target, d.target_kind, d.deny_reason, d.enforced`)}) recent
    group by acting_agent, hop = 1, target, target_kind, deny_reason, enforced`,
  countPeople: ({ limit, ...recent }) => rows<PersonCount>`
    select s.user_sub as "userSub", sum(c.count)::float8 as count, sum(c.denied)::float8 as denied, max(c.last) as "lastMs"
    from (
      select session_id, count(*) as count, count(deny_reason) as denied, max(decided_at) as last
      from (${recentDecisions(sql, recent, sql`d.decided_at, d.session_id, d.deny_reason`)}) recent group by session_id
    ) c join session s using (session_id)
    group by s.user_sub order by 2 desc, s.user_sub collate "C" limit ${limit}`,
});
