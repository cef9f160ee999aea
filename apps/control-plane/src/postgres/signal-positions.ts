import type { OwnEvent, WaitingEvent } from "../ports/signal-streams.ts";
import type { Transaction } from "./database.ts";
import { eventColumns } from "./pushed-events.ts";

interface Settlement {
  readonly isSettled: (event: WaitingEvent) => boolean;
  readonly disabled: OwnEvent;
  readonly leaseSeconds: number;
}

interface PositionRow {
  /** False while paused or disabled, or where another process has the lease. */
  readonly isServed: boolean;
  /** It was polled too long ago, so events may be gone. */
  readonly isForgotten: boolean;
  readonly transaction: string;
  readonly event: string;
  readonly answered: readonly string[];
}

type Row = WaitingEvent & { readonly transaction: string; readonly isOverdue: boolean };

/** So many events are in view, so many answered ones may lie after the position. */
const windowSize = 100;

/** Rows of pushed events are deleted after a day. */
const longestWait = "23 hours";

const firstPosition = { transaction: "0", event: "00000000-0000-0000-0000-000000000000" };

/**
 * Moves the position over what is settled, under the lock of the stream's row. The order is by transaction number, of
 * transactions that are all over: none can commit an event that lies before.
 */
export async function settle(
  tx: Transaction,
  { streamId, lease }: { readonly streamId: string; readonly lease?: string },
  { isSettled, disabled, leaseSeconds }: Settlement,
): Promise<readonly WaitingEvent[]> {
  const [stream] = await tx<PositionRow[]>`
    select status = 'enabled' and (${lease ?? null}::uuid is null or lease = ${lease ?? null}::uuid) as "isServed",
      endpoint_url is null and active_at < now() - ${longestWait}::interval as "isForgotten",
      (case when isAhead then ${firstPosition.transaction}::xid8 else position_transaction end)::text as transaction,
      case when isAhead then ${firstPosition.event}::uuid else position_event end as event, answered
    from (select *, position_transaction > pg_snapshot_xmin(pg_current_snapshot()) as isAhead from signal_stream
      where stream_id = ${streamId} for update) s`;
  if (stream === undefined || !stream.isServed) return [];
  const events = await waiting(tx, stream);
  if (stream.isForgotten || events.some(({ isOverdue }) => isOverdue)) {
    await disable(tx, streamId, disabled);
    return [];
  }
  const known = new Set(stream.answered);
  const isDone = (event: WaitingEvent): boolean => known.has(event.eventId) || isSettled(event);
  const open = events.filter((event) => !isDone(event));
  const last = lastBefore(events, open[0]) ?? { transaction: stream.transaction, eventId: stream.event };
  const after = events.slice(open[0] === undefined ? events.length : events.indexOf(open[0]));
  const answered = after.filter((event) => !open.includes(event)).map(({ eventId }) => eventId);
  await tx`
    update signal_stream set position_transaction = ${last.transaction}::xid8, position_event = ${last.eventId},
      answered = ${answered}::uuid[], active_at = now(),
      leased_until = case when ${lease === undefined} then leased_until else now() + ${leaseSeconds} * interval '1 second' end
    where stream_id = ${streamId} and (${lease !== undefined} or active_at < now() - interval '1 minute'
      or (position_event, answered) is distinct from (${last.eventId}::uuid, ${answered}::uuid[]))`;
  return open;
}

/** The last event before this one; the last of all if there is none. */
function lastBefore(events: readonly Row[], open: Row | undefined): Row | undefined {
  return open === undefined ? events.at(-1) : events[events.indexOf(open) - 1];
}

const waiting = (tx: Transaction, { transaction, event }: Pick<PositionRow, "transaction" | "event">) => tx<Row[]>`
  select ${eventColumns(tx)}, s.user_sub as "userSub", p.recorded_in::text as transaction,
    p.expires_at < now() - ${longestWait}::interval as "isOverdue"
  from pushed_event p join administrative_event e using (event_id) left join session s on s.session_id = e.session_id
  where (p.recorded_in, p.event_id) > (${transaction}::xid8, ${event}::uuid)
    and p.recorded_in < pg_snapshot_xmin(pg_current_snapshot())
  order by p.recorded_in, p.event_id limit ${windowSize}`;

/** The receiver learns that events are missing, and reads the lists again. */
const disable = (tx: Transaction, streamId: string, { eventId, atMs, type, event }: OwnEvent) => tx`
  update signal_stream set status = 'disabled', status_reason = ${String(event.reason)}, answered = '{}',
    own_event = ${tx.json({ eventId, atMs, type, event } as never)}
  where stream_id = ${streamId}`;
