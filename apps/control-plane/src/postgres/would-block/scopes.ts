import type { ScopeCount } from "@svc/core";
import type { AuditReads } from "../../ports/audit-reads.ts";
import type { Pool } from "../database.ts";
import { mostUncounted } from "./places.ts";

/** Adds up the counts of kinds of calls, and from the log what is not counted yet. It reads no counted row of the log. */
export const wouldBlockScopeReads = ({ rows }: Pool): Pick<AuditReads, "observedByScope"> => ({
  observedByScope: (kinds) => rows<ScopeCount>`
    select k.scope, sum(k.count)::float8 as count from (
      (select c.scope, c.count from (
        select group_id from would_block_group g
        order by g.acting_agent, g.target, g.target_kind, g.deny_reason, g.class_hash limit ${kinds}
      ) g cross join lateral (
        select c.scope, sum(c.count) as count from would_block_count c
        where c.group_id = g.group_id and c.grain = 'month' and c.month <> all (array(select month from retired_month))
        group by c.scope
      ) c)
      union all (select s.scope, u.count from (
        select session_id, count(*) as count from (
          select d.session_id from decision d
          where not d.enforced and d.deny_reason is not null and d.seq > would_block_counted()
          limit ${mostUncounted}
        ) newest group by session_id
      ) u join session s using (session_id))
    ) k where k.scope <> '' group by k.scope order by count desc, k.scope`,
});
