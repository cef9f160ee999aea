import type { Fragment, Sql } from "./database.ts";

/**
 * Rows of one value, for an order that begins with the column: so its index is walked whatever the statistics say. With
 * `=` the planner drops the column from the order, and may walk all rows by another index to find a value of few.
 */
export const isOne = (sql: Sql, column: Fragment, value: string | Fragment): Fragment =>
  sql`${column} between ${value} and ${value}`;

/**
 * The decisions `d` of one session, newest or oldest first.
 * @param id of the session, also a column of a joined table
 */
export const ofOneSession = (sql: Sql, id: string | Fragment, order: Fragment = sql`desc`) => ({
  where: isOne(sql, sql`d.session_id`, id),
  orderBy: sql`order by d.session_id ${order}, d.seq ${order}`,
});
