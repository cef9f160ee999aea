import type { RecentCalls } from "../ports/audit-reads.ts";
import type { Fragment, Sql } from "./database.ts";
import { ofOneSession } from "./one-value.ts";
import { firstIdAt, withinSpan } from "./time-ordered-ids.ts";

/** A person's newest sessions that are looked into. */
const sessionsOfPerson = 50;
/** A session lives for a day at most (docs/reference/conventions.md#limits); one more for clocks that differ. */
const longestSessionMs = 2 * 86_400_000;

/**
 * The newest decisions of a span. The bound is a subquery, so that the planner expects a small part and walks an index:
 * of a growing log its statistics would suggest to read and sort the whole span. Those of an agent, a target or a person
 * are bounded first and compared then, as no index has them by time.
 * @param columns of `d`
 */
export function recentDecisions(sql: Sql, recent: RecentCalls, columns: Fragment): Fragment {
  const { of, sinceMs, newest } = recent;
  const span = withinSpan(sql, recent, sql`d.decided_at`, sql`d.action_id`);
  const most = sql`limit (select ${newest}::bigint)`;
  const all = sql`from decision d where true ${span} order by d.decided_at desc ${most}`;
  if (of === undefined) return sql`select ${columns} ${all}`;
  if ("target" in of) return sql`select ${columns} from (select d.* ${all}) d where d.target = ${of.target}`;
  if ("agent" in of) {
    const own = sql`select d.* from decision d where d.acting_agent = ${of.agent} and d.hop > 1 order by d.seq desc ${most}`;
    return sql`select ${columns} from (${own}) d where true ${span}`;
  }
  const one = ofOneSession(sql, sql`own.session_id`);
  return sql`
    select ${columns} from (
      select session_id from session
      where user_sub = ${of.userSub} and session_id >= ${firstIdAt(sinceMs - longestSessionMs)}
      order by session_id desc limit ${sessionsOfPerson}
    ) own cross join lateral (
      select d.* from decision d where ${one.where} and d.action_id >= ${firstIdAt(sinceMs - longestSessionMs)}
      ${one.orderBy} ${most}
    ) d where true ${span} ${most}`;
}
