import type { AdministrativeEvent, AdministrativeEvents, EventQuery, NewEvent } from "../ports/administrative-event.ts";
import type { Pool, Sql, Transaction } from "./database.ts";
import { withinSpan } from "./time-ordered-ids.ts";

/** Call it in the transaction of the act itself. */
export async function insertAdministrativeEvent(
  tx: Transaction,
  { eventId, kind, atMs, actor, sessionId = null, agent = null, reason = null, details }: NewEvent,
): Promise<void> {
  await tx`
    insert into administrative_event (event_id, kind, ts, actor, session_id, agent, reason, details)
    values (${eventId}, ${kind}, ${new Date(atMs)}, ${actor}, ${sessionId}, ${agent}, ${reason}, ${tx.json(details)})`;
}

export const administrativeEvents = (pool: Pool): AdministrativeEvents => ({
  page: (query) => pool.run((sql) => page(sql, query)),
});

/** Renewals come from their spends. Each source is cut to a page alone, so that each walks its own index. */
const page = (sql: Sql, query: EventQuery) => sql<AdministrativeEvent[]>`
  select event_id as "eventId", kind, ts as "atMs", actor, session_id as "sessionId", agent, reason, details
  from (${sourcesOf(sql, query)}) as event
  order by event_id desc limit ${query.limit}`;

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
