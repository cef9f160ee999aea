import type { AuditReads, CountedCall, RecordedCallsQuery } from "../ports/audit-reads.ts";
import type { Pool, Sql } from "./database.ts";
import { withinSpan } from "./time-ordered-ids.ts";

interface PieceRow {
  readonly read: number;
  readonly seq: bigint | null;
  readonly atMs: number | null;
}

/** One piece of the log, so that a page costs the same however rare its scopes are. */
export const recordedCallReads = ({ rows, sql }: Pool): Pick<AuditReads, "recordedCalls"> => ({
  async recordedCalls(query) {
    const found = await rows<PieceRow & CountedCall & { scope: string | null }>`
      with piece as materialized (${piece(sql, query)}),
        ends as (select count(*)::int as read, min(seq) as seq, min(decided_at) as "atMs" from piece)
      select e.read, e.seq, e."atMs", c.* from ends e left join (${calls(sql, query)}) c on true`;
    const [{ read, seq, atMs } = { read: 0, seq: null, atMs: null }] = found;
    return {
      read,
      last: seq === null || atMs === null ? null : { seq, atMs },
      calls: found.filter(({ scope }) => scope !== null),
    };
  },
});

const piece = (sql: Sql, { agent, after, limit, ...span }: RecordedCallsQuery) => sql`
  select d.* from decision d
  where true ${after === undefined ? sql`` : sql`and d.seq < ${after}`}
    ${agent === undefined ? sql`` : sql`and d.acting_agent = ${agent}`}
    ${withinSpan(sql, span, sql`d.decided_at`, sql`d.action_id`)}
  order by d.seq desc limit ${limit}`;

/** Looks up each parent alone, so that only its month is read. */
const calls = (sql: Sql, { scopes }: RecordedCallsQuery) => sql`
  select s.scope, d.hop, d.chain, d.acting_agent as "actingAgent", d.target, d.target_kind as "targetKind",
    d.data_class as "dataClass", d.taint, d.decision, d.deny_reason as "denyReason", d.present,
    p.data_class as "narrowedTo", count(*)::int as count, min(d.decided_at) as "firstMs", max(d.decided_at) as "lastMs",
    (array_agg(d.action_id order by d.seq desc))[1:3] as "actionIds"
  from piece d
    join session s on s.session_id = d.session_id and s.scope = any(${scopes as string[]})
    left join lateral (
      select data_class from decision where action_id = d.parent_action_id and d.hop > 1 limit 1
    ) p on true
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12`;
