import { pushedKinds } from "@svc/core";
import type { PushedEvent, PushedEvents, PushPosition } from "../ports/pushed-events.ts";
import type { Pools, Sql, Transaction } from "./database.ts";
import { firstIdAt } from "./time-ordered-ids.ts";

interface PositionRow {
  readonly snapshot: string;
  readonly oldestOpen: string;
  readonly isBehind: boolean;
  readonly asOfMs: number;
}

type Row = PositionRow & { readonly [Member in keyof PushedEvent]: PushedEvent[Member] | null };

/** A statement sees one snapshot, which it returns beside the rows: neither a gap nor an overlap lies between two reads. */
export const pushedEvents = ({ reader: { rows, sql } }: Pools<"reader">): PushedEvents => ({
  async read(before, limit) {
    const read = await rows<Row>`
      select s.now::text as snapshot, pg_snapshot_xmin(s.now)::text as "oldestOpen", statement_timestamp() as "asOfMs",
        ${before === undefined ? sql`false` : sql`pg_snapshot_xmax(s.now) < pg_snapshot_xmin(${before.snapshot}::pg_snapshot)`}
          as "isBehind",
        event.*
      from (select pg_current_snapshot() as now) s left join lateral (
        select ${eventColumns(sql)} from pushed_event p join administrative_event e using (event_id)
        where ${
          before === undefined
            ? sql`false`
            : sql`p.recorded_in >= pg_snapshot_xmin(${before.snapshot}::pg_snapshot)
                and p.recorded_in < pg_snapshot_xmax(s.now)
                and not pg_visible_in_snapshot(p.recorded_in, ${before.snapshot}::pg_snapshot)`
        }
        order by p.recorded_in, p.event_id limit ${limit + 1}
      ) event on true`;
    const [first] = read;
    if (first === undefined) throw new Error("a left join of one row has a row");
    const events = read.flatMap((row) => (row.eventId === null ? [] : [toEvent(row as PushedEvent)]));
    return { position: toPosition(first), events, isLost: first.isBehind || events.length > limit };
  },
  fromTransaction: (transaction, limit) => rows<PushedEvent>`
    select ${eventColumns(sql)} from pushed_event p join administrative_event e using (event_id)
    where p.recorded_in >= ${transaction.toString()}::xid8 order by p.recorded_in, p.event_id limit ${limit}`,
  sinceTime: (sinceMs, nowMs, limit) => rows<PushedEvent>`
    select ${eventColumns(sql)} from administrative_event e
    where (kind = 'agent_revoked' and event_id >= ${firstIdAt(sinceMs - clockSlackMs)})
      or (kind = any(${[...pushedKinds]}) and event_id >= ${firstIdAt(Math.max(sinceMs, nowMs - keptMs) - clockSlackMs)})
    order by event_id limit ${limit}`,
});

/** Far more than the clocks of processes differ, and than a change waits for its commit. */
const clockSlackMs = 600_000;

/** No session lives longer (docs/reference/conventions.md#limits). */
const keptMs = 86_400_000;

export const eventColumns = (sql: Sql | Transaction) => sql`
  e.event_id as "eventId", e.kind, e.ts as "atMs", e.session_id as "sessionId", e.agent, e.details`;

const toPosition = ({ snapshot, oldestOpen, asOfMs }: PositionRow): PushPosition => ({
  snapshot,
  oldestOpen: BigInt(oldestOpen),
  asOfMs,
});

const toEvent = ({ eventId, kind, atMs, sessionId, agent, details }: PushedEvent): PushedEvent => ({
  eventId,
  kind,
  atMs,
  sessionId,
  agent,
  details,
});
