import { randomUUID } from "node:crypto";
import { budgets } from "../budgets.ts";
import type { LeasedStream, SignalStream, SignalStreams } from "../ports/signal-streams.ts";
import type { Pool, Pools, Sql } from "./database.ts";
import { settle } from "./signal-positions.ts";

/** Longer than a delivery may take; the next settlement renews it. */
const leaseSeconds = 30;
/** The pause doubles from a second up to this. */
const longestPauseSeconds = 300;

/** Its writes wait for no commit of a hop, and delay none. */
export const signalStreams = ({ reader, submissions }: Pools<"reader" | "submissions">): SignalStreams =>
  streamsOf(reader, submissions.within(budgets.emergency));

const streamsOf = ({ rows, sql }: Pool, writer: Pool): SignalStreams => ({
  async create({ streamId, receiver, endpointUrl, sealedAuthorization, eventsRequested, description }) {
    const made = await writer.rows`
      insert into signal_stream (stream_id, receiver, endpoint_url, sealed_authorization, events_requested, description,
        position_transaction, position_event)
      values (${streamId}, ${receiver}, ${endpointUrl}, ${sealedAuthorization}, ${[...eventsRequested]}::text[],
        ${description}, ${now(sql)})
      on conflict (receiver) do nothing returning stream_id`;
    return made.length > 0;
  },
  async find(receiver) {
    const [found] = await rows<SignalStream>`
      select ${columns(sql)} from signal_stream where receiver = ${receiver}`;
    return found;
  },
  async configure(streamId, { endpointUrl, sealedAuthorization, eventsRequested, description }) {
    await writer.rows`
      update signal_stream set endpoint_url = ${endpointUrl}, sealed_authorization = ${sealedAuthorization},
        events_requested = ${[...eventsRequested]}::text[], description = ${description}, active_at = now(),
        retry_at = now(), failures = 0
      where stream_id = ${streamId}`;
  },
  async remove(streamId) {
    await writer.rows`delete from signal_stream where stream_id = ${streamId}`;
  },
  async setStatus(streamId, status, reason) {
    await writer.rows`
      update signal_stream set status = ${status}, status_reason = ${reason}, active_at = now(), retry_at = now(),
        failures = 0, answered = case when status = 'disabled' then '{}' else answered end,
        (position_transaction, position_event) = (
          select case when status = 'disabled' then fresh.at else position_transaction end,
            case when status = 'disabled' then fresh.event else position_event end
          from (select ${now(sql)}) fresh (at, event))
      where stream_id = ${streamId}`;
  },
  async setOwnEvent(streamId, event) {
    await writer.rows`
      update signal_stream set own_event = ${sql.json({ ...event } as never)}, retry_at = now()
      where stream_id = ${streamId}`;
  },
  async clearOwnEvent(streamId, eventId) {
    await writer.rows`
      update signal_stream set own_event = null where stream_id = ${streamId} and own_event ->> 'eventId' = ${eventId}`;
  },
  settle: (stream, isSettled, disabled) =>
    writer.transaction((tx) => settle(tx, stream, { isSettled, disabled, leaseSeconds })),
  async lease() {
    const [leased] = await writer.rows<LeasedStream>`
      update signal_stream set lease = ${randomUUID()}, leased_until = now() + ${leaseSeconds} * interval '1 second'
      where stream_id = (
        select stream_id from signal_stream s
        where endpoint_url is not null and leased_until <= now() and retry_at <= now()
          and (own_event is not null or (status = 'enabled' and (
            position_transaction > pg_snapshot_xmin(pg_current_snapshot())
            or exists (select from pushed_event p
              where (p.recorded_in, p.event_id) > (s.position_transaction, s.position_event)
                and p.recorded_in < pg_snapshot_xmin(pg_current_snapshot())))))
        order by retry_at limit 1 for update skip locked)
      returning ${columns(sql)}, lease`;
    return leased;
  },
  async release({ streamId, lease }, outcome) {
    const failed = outcome === "failed";
    await writer.rows`
      update signal_stream set lease = null, leased_until = now(),
        failures = case when ${failed} then failures + 1 else 0 end,
        retry_at = now() + case when ${failed}
          then least(${longestPauseSeconds}, 2 ^ least(failures, 16)) else 0 end * interval '1 second'
      where stream_id = ${streamId} and lease = ${lease}`;
  },
});

/** A position before every transaction that is not over. */
const now = (sql: Sql) => sql`pg_snapshot_xmin(pg_current_snapshot()), '00000000-0000-0000-0000-000000000000'::uuid`;

const columns = (sql: Sql) => sql`
  stream_id as "streamId", receiver, endpoint_url as "endpointUrl", sealed_authorization as "sealedAuthorization",
  events_requested as "eventsRequested", description, status, status_reason as "statusReason", own_event as "ownEvent"`;
