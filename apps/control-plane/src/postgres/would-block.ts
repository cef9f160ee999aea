import type { WouldBlock, WouldBlockPosition, WouldBlockQuery, WouldBlocks } from "../ports/decision-log.ts";
import { bounded, type Sql } from "./database.ts";
import type { DecisionColumns } from "./decision-rows.ts";
import { withinSpan } from "./time-ordered-ids.ts";

export const wouldBlocks = (sql: Sql, deadlineMs: number): WouldBlocks => ({
  page: (query) => bounded(deadlineMs, page(sql, query)),
});

interface GroupRow extends Pick<DecisionColumns, "acting_agent" | "target" | "target_kind"> {
  deny_reason: NonNullable<DecisionColumns["deny_reason"]>;
  class_hash: string;
  data_class: string;
  count: bigint;
  first_at: Date;
  last_at: Date;
}

/**
 * In the order of its index, so that it reads the rows of one page's groups and no more, or all of them at once where they
 * are hardly more.
 */
async function page(sql: Sql, { scope, after, limit, ...span }: WouldBlockQuery): Promise<WouldBlock[]> {
  const rows = await sql<GroupRow[]>`
    select d.acting_agent, d.target, d.target_kind, d.deny_reason, md5(d.data_class) as class_hash,
      min(d.data_class) as data_class, count(*) as count, min(d.decided_at) as first_at, max(d.decided_at) as last_at
    from decision d
    where not d.enforced and d.decision = 'deny'
      ${after === undefined ? sql`` : isBehind(sql, after)}
      ${withinSpan(sql, span, sql`d.decided_at`, sql`d.action_id`)}
      ${scope === undefined ? sql`` : isUnder(sql, scope)}
    group by d.acting_agent, d.target, d.target_kind, d.deny_reason, md5(d.data_class)
    order by d.acting_agent, d.target, d.target_kind, d.deny_reason, md5(d.data_class)
    limit ${limit}`;
  return rows.map(toWouldBlock);
}

const isBehind = (sql: Sql, [agent, target, kind, reason, classHash]: WouldBlockPosition) => sql`
  and (d.acting_agent, d.target, d.target_kind, d.deny_reason, md5(d.data_class))
    > (${agent}, ${target}, ${kind}, ${reason}, ${classHash})`;

const isUnder = (sql: Sql, scope: string) => sql`
  and exists (select from session s where s.session_id = d.session_id and s.scope = ${scope})`;

const toWouldBlock = (row: GroupRow): WouldBlock => ({
  actingAgent: row.acting_agent,
  target: row.target,
  targetKind: row.target_kind,
  dataClass: row.data_class,
  denyReason: row.deny_reason,
  count: Number(row.count),
  firstMs: row.first_at.getTime(),
  lastMs: row.last_at.getTime(),
  position: [row.acting_agent, row.target, row.target_kind, row.deny_reason, row.class_hash],
});
