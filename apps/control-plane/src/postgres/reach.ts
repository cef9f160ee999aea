import type { AuditReads } from "../ports/audit-reads.ts";
import type { Pool, Sql } from "./database.ts";
import { runningSince, sessionConditions } from "./sessions.ts";
import { withinSpan } from "./time-ordered-ids.ts";

/** How much an act of an administrator would concern. The bounds keep the time of a read. */
export const reachReads = ({ rows, sql }: Pool): Pick<AuditReads, "countRunning" | "countCallsOf"> => ({
  async countRunning({ beside, nowMs, most, ...filter }) {
    const [row] = await rows<{ count: number }>`
      select count(*)::int as count from (
        select from session s join session_state st using (session_id)
        where st.revoked_at is null and s.expires_at > ${new Date(nowMs)}
          ${beside === undefined ? sql`` : sql`and s.session_id in (${besideOf(sql, beside)})`}
          ${sessionConditions(sql, filter, runningSince(nowMs))}
        limit ${most}
      ) running`;
    return row?.count ?? 0;
  },
  async countCallsOf({ target, targetKind, sinceMs, newest }) {
    const [row] = await rows<{ count: number }>`
      select count(*)::int as count from (
        select d.target, d.target_kind, d.decision from decision d
        where true ${withinSpan(sql, { sinceMs }, sql`d.decided_at`, sql`d.action_id`)}
        order by d.decided_at desc limit (select ${newest}::bigint)
      ) recent
      where target = ${target} and target_kind = ${targetKind} and decision = 'allow'`;
    return row?.count ?? 0;
  },
});

const besideOf = (sql: Sql, sessionId: string) => sql`
  with recursive dependent as (
    select session_id from session_beside where beside = ${sessionId}
    union select b.session_id from session_beside b join dependent d on b.beside = d.session_id
  )
  select session_id from dependent`;
