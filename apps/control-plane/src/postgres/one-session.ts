import type { Fragment, Sql } from "./database.ts";

/**
 * The rows `d` of one session, newest or oldest first, so that the index `decision_by_session` is walked whatever the
 * statistics say: a range and an order by both columns, which no other index has. With `=` the planner may walk the
 * whole log to find a session of few rows.
 * @param id of the session, also a column of a joined table
 */
export const ofOneSession = (sql: Sql, id: Fragment, order: Fragment = sql`desc`) => ({
  where: sql`d.session_id between ${id} and ${id}`,
  orderBy: sql`order by d.session_id ${order}, d.seq ${order}`,
});
