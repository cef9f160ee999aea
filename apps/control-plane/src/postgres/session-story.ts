import type { SessionFacts, SessionTotals } from "@svc/core";
import type { AuditReads } from "../ports/audit-reads.ts";
import type { Pool } from "./database.ts";
import { familyOf } from "./families.ts";
import { ofOneSession } from "./one-value.ts";
import { type RevocationColumns, sessionColumns, toSessionSummary } from "./sessions.ts";

/** What the page of a session adds to its facts. */
export const sessionStories = ({ rows, sql }: Pool): Pick<AuditReads, "sessionTotals" | "sessionFamily"> => ({
  async sessionTotals(sessionId, newest) {
    const own = ofOneSession(sql, sessionId);
    const [totals] = await rows<SessionTotals>`
      select count(*)::int as decisions, coalesce(max(hop), 0) as "longestChain",
        count(*) filter (where deny_reason is not null and enforced)::int as denied,
        count(*) filter (where deny_reason is not null and not enforced)::int as observed,
        count(distinct target) filter (where target_kind = 'tool')::int as tools,
        count(distinct acting_agent) filter (where hop > 1)::int as agents,
        count(s.action_id)::int as "spentTokens", min(decided_at) as "firstMs", max(decided_at) as "lastMs"
      from (
        select * from decision d where ${own.where} ${own.orderBy} limit ${newest}
      ) recent left join spend s on s.action_id = recent.action_id`;
    return totals as SessionTotals;
  },
  async sessionFamily(sessionId, { nowMs, limit }) {
    const found = await rows<SessionFacts & RevocationColumns & { agent: string | null; holder: string | null }>`
      select ${sessionColumns(sql)}, st.revoked_at, st.revoked_by, st.revoked_reason, b.agent, b.holder
      from session s join session_state st using (session_id) left join session_beside b using (session_id)
      where s.session_id <> ${sessionId} and (s.session_id = ${familyOf(sql, sessionId)}
        or s.session_id in (select session_id from session_beside where family = ${familyOf(sql, sessionId)}))
      order by s.session_id limit ${limit}`;
    return found.map(({ agent, holder, ...row }) => ({ ...toSessionSummary(row, nowMs), agent, holder }));
  },
});
