import type { WouldBlock, WouldBlockPosition, WouldBlockQuery, WouldBlocks } from "../ports/decision-log.ts";
import type { Pool, Sql } from "./database.ts";
import { withinSpan } from "./time-ordered-ids.ts";

export const wouldBlocks = (pool: Pool): WouldBlocks => ({ page: (query) => pool.run((sql) => page(sql, query)) });

/** Groups in the order of an index, so that it reads the rows of one page's groups only. */
async function page(sql: Sql, { scope, after, limit, ...span }: WouldBlockQuery): Promise<readonly WouldBlock[]> {
  const rows = await sql<(Omit<WouldBlock, "position"> & { classHash: string; denyReason: string })[]>`
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
  return rows.map(({ classHash, ...group }) => ({
    ...group,
    position: [group.actingAgent, group.target, group.targetKind, group.denyReason, classHash],
  }));
}

const isBehind = (sql: Sql, [agent, target, kind, reason, classHash]: WouldBlockPosition) => sql`
  and (d.acting_agent, d.target, d.target_kind, d.deny_reason, md5(d.data_class))
    > (${agent}, ${target}, ${kind}, ${reason}, ${classHash})`;

const isUnder = (sql: Sql, scope: string) => sql`
  and exists (select from session s where s.session_id = d.session_id and s.scope = ${scope})`;
