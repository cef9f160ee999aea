import type { AdministrativeEventKind } from "@svc/core";
import type { AdministrativeEvent, AdministrativeEvents, EventQuery } from "../ports/administrative-event.ts";
import { bounded, type Sql, type Transaction } from "./database.ts";
import { withinSpan } from "./time-ordered-ids.ts";

/** In the transaction of the act itself, so that neither stands without the other. */
export async function insertAdministrativeEvent(tx: Transaction, event: AdministrativeEvent): Promise<void> {
  await tx`
    insert into administrative_event (event_id, kind, ts, actor, session_id, agent, reason, details)
    values (${event.eventId}, ${event.kind}, ${new Date(event.atMs)}, ${event.actor}, ${event.sessionId},
      ${event.agent}, ${event.reason}, ${tx.json(event.details)})`;
}

export const administrativeEvents = (sql: Sql, deadlineMs: number): AdministrativeEvents => ({
  page: (query) => bounded(deadlineMs, page(sql, query)),
});

interface EventRow {
  event_id: string;
  kind: AdministrativeEventKind;
  ts: Date;
  actor: string;
  session_id: string | null;
  agent: string | null;
  reason: string | null;
  details: AdministrativeEvent["details"];
}

/**
 * Renewals are told by their spends. Each source is cut to a page by itself, so that each walks an index of its own; the
 * identifiers of both are time-ordered, which makes them one order.
 */
async function page(sql: Sql, query: EventQuery): Promise<readonly AdministrativeEvent[]> {
  const rows = await sql<EventRow[]>`
    select event_id, kind, ts, actor, session_id, agent, reason, details
    from (${sourcesOf(sql, query)}) as event
    order by event_id desc limit ${query.limit}`;
  return rows.map(toEvent);
}

function sourcesOf(sql: Sql, query: EventQuery) {
  if (query.kind === "token_renewed") return renewals(sql, query);
  if (query.kind !== undefined) return events(sql, query);
  return sql`(${events(sql, query)}) union all (${renewals(sql, query)})`;
}

const events = (sql: Sql, { kind, sessionId, agent, beforeId, limit, ...span }: EventQuery) => sql`
  select event_id, kind, ts, actor, session_id, agent, reason, details from administrative_event
  where true
    ${kind === undefined ? sql`` : sql`and kind = ${kind}`}
    ${sessionId === undefined ? sql`` : sql`and session_id = ${sessionId}`}
    ${agent === undefined ? sql`` : sql`and agent = ${agent}`}
    ${withinSpan(sql, span, sql`ts`, sql`event_id`)}
    ${beforeId === undefined ? sql`` : sql`and event_id < ${beforeId}`}
  order by event_id desc limit ${limit}`;

const renewals = (sql: Sql, { sessionId, agent, beforeId, limit, ...span }: EventQuery) => sql`
  select renewal_id as event_id, 'token_renewed' as kind, spent_at as ts, actor, session_id, agent, null as reason,
    jsonb_strip_nulls(jsonb_build_object('prover', prover)) as details
  from spend
  where kind = 'renewal'
    ${sessionId === undefined ? sql`` : sql`and session_id = ${sessionId}`}
    ${agent === undefined ? sql`` : sql`and agent = ${agent}`}
    ${withinSpan(sql, span, sql`spent_at`, sql`renewal_id`)}
    ${beforeId === undefined ? sql`` : sql`and renewal_id < ${beforeId}`}
  order by renewal_id desc limit ${limit}`;

const toEvent = (row: EventRow): AdministrativeEvent => ({
  eventId: row.event_id,
  kind: row.kind,
  atMs: row.ts.getTime(),
  actor: row.actor,
  sessionId: row.session_id,
  agent: row.agent,
  reason: row.reason,
  details: row.details,
});
