import type { AuditReads, PlacesQuery, WouldBlockPlace } from "../../ports/audit-reads.ts";
import type { Fragment, Pool, Sql } from "../database.ts";
import { withinSpan } from "../time-ordered-ids.ts";

/** Of one group. */
const mostPlaces = 50;
/** A place is counted once in each month. */
const mostRows = 500;

/** More are left to the counting, which takes seconds; after an upgrade minutes. */
export const mostUncounted = 20_000;

interface PlaceRow extends WouldBlockPlace {
  /** Which of the groups, from 1 on. */
  readonly group: number;
  /** Counted rows that were read for it. */
  readonly read: number;
  /** Rows of the log that are not counted yet. */
  readonly uncounted: number;
}

/**
 * From where the calls of would-block groups were made, as counted and, from the log, as not counted yet. Of a span that
 * ended, also a place that was seen both before and after it.
 */
export const wouldBlockPlaceReads = ({ rows, sql }: Pool): Pick<AuditReads, "wouldBlockPlaces"> => ({
  async wouldBlockPlaces(query) {
    if (query.groups.length === 0) return [];
    const found = await rows<PlaceRow>`
      with ${asked(sql, query)}, ${uncounted(sql, query)}
      select p.n::int as "group", p.scope, p.hop, p.chain, p.taint, p.narrowed_to as "narrowedTo",
        max(p.read)::int as read, (select count(*) from uncounted)::int as uncounted
      from ((${fromCounts(sql, query)}) union all (${fromLog(sql, query)})) p
      group by p.n, p.scope, p.hop, p.chain, p.taint, p.narrowed_to`;
    const byGroup = Map.groupBy(found, ({ group }) => group);
    return query.groups.map((_, n) => placesOf(byGroup.get(n + 1) ?? []));
  },
});

function placesOf(found: readonly PlaceRow[]): readonly WouldBlockPlace[] | undefined {
  const isWhole =
    found.length <= mostPlaces && found.every(({ read, uncounted }) => read < mostRows && uncounted < mostUncounted);
  if (!isWhole) return undefined;
  return found.map(({ scope, hop, chain, taint, narrowedTo }) => ({ scope, hop, chain, taint, narrowedTo }));
}

function asked(sql: Sql, { groups }: PlacesQuery): Fragment {
  const column = (at: 0 | 1 | 2 | 3 | 4) => groups.map((position) => position[at]);
  return sql`asked as (
    select * from unnest(
      ${column(0)}::text[], ${column(1)}::text[], ${column(2)}::text[], ${column(3)}::text[], ${column(4)}::text[]
    ) with ordinality as a (acting_agent, target, target_kind, deny_reason, class_hash, n)
  )`;
}

const uncounted = (sql: Sql, span: PlacesQuery): Fragment => sql`uncounted as materialized (
  select d.* from decision d
  where not d.enforced and d.deny_reason is not null and d.seq > would_block_counted()
    ${withinSpan(sql, span, sql`d.decided_at`, sql`d.action_id`)}
  limit ${mostUncounted}
)`;

const fromCounts = (sql: Sql, { scope, sinceMs, untilMs }: PlacesQuery): Fragment => sql`
  select a.n, k.scope, k.hop, k.chain, k.taint, k.narrowed_to, k.read
  from asked a join would_block_group g using (acting_agent, target, target_kind, deny_reason, class_hash)
  cross join lateral (
    select r.*, count(*) over () as read from (
      select p.scope, p.hop, p.chain, p.taint, p.narrowed_to from would_block_place p
      where p.group_id = g.group_id
        ${scope === undefined ? sql`` : sql`and p.scope = ${scope}`}
        ${sinceMs === undefined ? sql`` : sql`and p.last_at >= ${new Date(sinceMs)}`}
        ${untilMs === undefined ? sql`` : sql`and p.first_at < ${new Date(untilMs)}`}
        and p.month <> all (array(select month from retired_month))
      limit ${mostRows}
    ) r
  ) k`;

const fromLog = (sql: Sql, { scope }: PlacesQuery): Fragment => sql`
  select a.n, coalesce(s.scope, ''), d.hop, d.chain, d.taint, p.data_class, 0
  from uncounted d
    join asked a on (a.acting_agent, a.target, a.target_kind, a.deny_reason, a.class_hash)
      = (d.acting_agent, d.target, d.target_kind, d.deny_reason, md5(d.data_class))
    left join session s using (session_id)
    left join lateral (
      select o.data_class from decision o where o.action_id = d.parent_action_id and d.hop > 1 limit 1
    ) p on true
  ${scope === undefined ? sql`` : sql`where s.scope = ${scope}`}`;
