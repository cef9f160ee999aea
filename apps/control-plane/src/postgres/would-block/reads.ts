import type { WouldBlock } from "@svc/core";
import type { AuditReads, Span, WouldBlockPosition, WouldBlockQuery } from "../../ports/audit-reads.ts";
import type { Fragment, Pool, Sql } from "../database.ts";
import { withinSpan } from "../time-ordered-ids.ts";
import { type PartOfSlice, partsOf, type WholeBuckets } from "./span-parts.ts";

/**
 * Adds up whole buckets of the counts and, from the log, what is not counted yet and what a span has of a slice
 * (docs/reference/record.md#would-block-list). One statement has one snapshot, in which each row is in one of these.
 */
export const wouldBlockReads = ({ rows, sql }: Pool): Pick<AuditReads, "wouldBlocks"> => ({
  async wouldBlocks(query) {
    const { whole, partial } = partsOf(query);
    const groups = await rows<WouldBlock & { classHash: string; denyReason: string }>`
      select g.acting_agent as "actingAgent", g.target, g.target_kind as "targetKind", g.deny_reason as "denyReason",
        g.class_hash as "classHash", min(g.data_class) as "dataClass", sum(g.count)::float8 as count,
        min(g.first_at) as "firstMs", max(g.last_at) as "lastMs"
      from (
        (${counted(sql, query, whole)})
        union all (${fromLog(sql, query, query, sql`d.seq > would_block_counted()`)})
        ${joined(
          sql,
          partial.map((part) => sql`union all (${fromLog(sql, query, part, countedInSlice(sql, part))})`),
        )}
      ) g
      group by ${storedKey(sql)} order by ${storedKey(sql)} limit ${query.limit}`;
    return groups.map(({ classHash, ...group }) => ({
      ...group,
      position: [group.actingAgent, group.target, group.targetKind, group.denyReason, classHash],
    }));
  },
});

/** The first groups that have a count in the buckets, in the order of their index. */
function counted(sql: Sql, query: WouldBlockQuery, whole: readonly WholeBuckets[]): Fragment {
  const [first, ...others] = whole.map((buckets) => countsOfGroup(sql, buckets, query.scope));
  const none = sql`select 0::bigint as count, null::timestamptz as first_at, null::timestamptz as last_at where false`;
  return sql`
    select ${storedKey(sql)}, g.data_class, c.count, c.first_at, c.last_at
    from would_block_group g cross join lateral (
      select sum(count) as count, min(first_at) as first_at, max(last_at) as last_at
      from (${first ?? none} ${joined(
        sql,
        others.map((other) => sql`union all ${other}`),
      )}) bucket
    ) c
    where c.count is not null ${isBehind(sql, storedKey(sql), query.after)}
    order by ${storedKey(sql)} limit ${query.limit}`;
}

const countsOfGroup = (sql: Sql, { grain, sinceMs, untilMs }: WholeBuckets, scope: string | undefined) => sql`
  select c.count, c.first_at, c.last_at from would_block_count c
  where c.group_id = g.group_id and c.grain = ${grain}
    ${sinceMs === undefined ? sql`` : sql`and c.starts_at >= ${new Date(sinceMs)}`}
    ${untilMs === undefined ? sql`` : sql`and c.starts_at < ${new Date(untilMs)}`}
    ${scope === undefined ? sql`` : sql`and c.scope = ${scope}`}
    and c.month <> all (array(select month from retired_month))`;

/** No service writes names that are longer in all; a forged row of such is neither counted nor listed. */
const fromLog = (sql: Sql, { scope, after }: WouldBlockQuery, span: Span, position: Fragment): Fragment => sql`
  select ${loggedKey(sql)} as class_hash, min(d.data_class) as data_class, count(*) as count, min(d.decided_at) as first_at,
    max(d.decided_at) as last_at
  from decision d
  where not d.enforced and d.deny_reason is not null and ${position}
    and octet_length(d.acting_agent) + octet_length(d.target) + octet_length(d.deny_reason) <= 2000
    ${isBehind(sql, loggedKey(sql), after)}
    ${withinSpan(sql, span, sql`d.decided_at`, sql`d.action_id`)}
    ${scope === undefined ? sql`` : isUnder(sql, scope)}
  group by ${loggedKey(sql)}`;

const countedInSlice = (sql: Sql, { sliceMs }: PartOfSlice) => sql`
  d.seq between would_block_slice_first(${new Date(sliceMs)}) and would_block_slice_last(${new Date(sliceMs)})`;

const joined = (sql: Sql, parts: readonly Fragment[]): Fragment =>
  parts.reduce((all, part) => sql`${all} ${part}`, sql``);

const storedKey = (sql: Sql) => sql`g.acting_agent, g.target, g.target_kind, g.deny_reason, g.class_hash`;

const loggedKey = (sql: Sql) => sql`d.acting_agent, d.target, d.target_kind, d.deny_reason, md5(d.data_class)`;

const isBehind = (sql: Sql, key: Fragment, after: WouldBlockPosition | undefined) =>
  after === undefined ? sql`` : sql`and (${key}) > (${after[0]}, ${after[1]}, ${after[2]}, ${after[3]}, ${after[4]})`;

const isUnder = (sql: Sql, scope: string) => sql`
  and exists (select from session s where s.session_id = d.session_id and s.scope = ${scope})`;
