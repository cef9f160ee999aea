import { type AdministrativeEvent, type AdministrativeEventKind, pushedKinds } from "@svc/core";
import type { NewEvent, OnPage } from "../ports/administrative-event.ts";
import type { AuditReads, EventQuery } from "../ports/audit-reads.ts";
import { SignInOver } from "../ports/sign-ins.ts";
import type { Fragment, Pool, Sql, Transaction } from "./database.ts";
import { isOne } from "./one-value.ts";
import { withinSpan } from "./time-ordered-ids.ts";

/** Call it in the transaction of the act itself. @throws {SignInOver} for a person who is not signed in any more. */
export async function insertAdministrativeEvent(
  tx: Transaction,
  { eventId, kind, atMs, actor, sessionId = null, agent = null, reason = null, onPage, ...rest }: NewEvent,
): Promise<void> {
  const details = onPage === undefined ? rest.details : { ...rest.details, ...(await signedIn(tx, onPage, atMs)) };
  const event = tx`
    insert into administrative_event (event_id, kind, ts, actor, session_id, agent, reason, details)
    values (${eventId}, ${kind}, ${new Date(atMs)}, ${actor}, ${sessionId}, ${agent}, ${reason}, ${tx.json(details)})`;
  if (isPushed(kind)) {
    await tx`with event as (${event} returning event_id) insert into pushed_event (event_id) select event_id from event`;
  } else await event;
}

/** Until the act commits, the sign-in cannot end. */
async function signedIn(tx: Transaction, { signInId, issuer, page }: OnPage, atMs: number) {
  const { count } = await tx`
    select from sign_in
    where sign_in_id = ${signInId} and ended_at is null and expires_at > ${new Date(atMs)} for share`;
  if (count === 0) throw new SignInOver();
  return { sign_in_id: signInId, issuer, page };
}

const isPushed = (kind: AdministrativeEventKind): boolean =>
  (pushedKinds as readonly AdministrativeEventKind[]).includes(kind);

/**
 * Call it in the transaction of every {@link DenialChanges.change}: a decision on the earlier state can then no longer be
 * written. The epoch is random, since after a failover a counter could repeat.
 */
export async function recordChangedDenials(tx: Transaction, event: NewEvent): Promise<void> {
  await tx`update denial_epoch set epoch = gen_random_uuid()`;
  await insertAdministrativeEvent(tx, event);
}

/** Renewals come from their spends. Each source is cut to a page alone, so that each walks its own index. */
export const eventReads = ({ rows, sql }: Pool): Pick<AuditReads, "events"> => ({
  events: (query) => rows<AdministrativeEvent>`
    select event_id as "eventId", kind, ts as "atMs", actor, session_id as "sessionId", agent, reason, details
    from (${sourcesOf(sql, query)}) as event
    order by event_id desc limit ${query.limit}`,
});

function sourcesOf(sql: Sql, query: EventQuery) {
  if (query.kind === "token_renewed") return renewals(sql, query);
  if (query.kind !== undefined) return events(sql, query);
  return sql`(${events(sql, query)}) union all (${renewals(sql, query)})`;
}

const events = (sql: Sql, query: EventQuery) => sql`
  select event_id, kind, ts, actor, session_id, agent, reason, details from administrative_event
  where ${query.kind === undefined ? sql`true` : sql`kind = ${query.kind}`} ${conditions(sql, query, sql`event_id`, sql`ts`)}
    ${query.actor === undefined ? sql`order by` : sql`and ${isOne(sql, sql`actor`, query.actor)} order by actor desc,`}
    event_id desc limit ${query.limit}`;

/** An agent renews under its own name, a person in their own sessions: both have an index, the actor has none. */
function renewals(sql: Sql, query: EventQuery) {
  const { actor } = query;
  if (actor === undefined) return renewalsThat(sql, query, sql`order by`);
  const ofSession = sql`and agent is null and actor = ${actor}
    and ${isOne(sql, sql`session_id`, sql`own.id`)} order by session_id,`;
  return sql`(${renewalsThat(sql, query, sql`and ${isOne(sql, sql`agent`, actor)} order by agent,`)})
    union all (select r.* from (select session_id as id from session where user_sub = ${actor}) own
      cross join lateral (${renewalsThat(sql, query, ofSession)}) r)`;
}

const renewalsThat = (sql: Sql, query: EventQuery, whichInOrder: Fragment) => sql`
  select renewal_id as event_id, 'token_renewed' as kind, spent_at as ts, actor, session_id, agent, null as reason,
    jsonb_strip_nulls(jsonb_build_object('prover', prover)) as details
  from spend where kind = 'renewal' ${conditions(sql, query, sql`renewal_id`, sql`spent_at`)}
    ${whichInOrder} renewal_id desc limit ${query.limit}`;

const conditions = (sql: Sql, { sessionId, agent, after, ...span }: EventQuery, id: Fragment, time: Fragment) => sql`
  ${sessionId === undefined ? sql`` : sql`and session_id = ${sessionId}`}
  ${agent === undefined ? sql`` : sql`and agent = ${agent}`}
  ${withinSpan(sql, span, time, id)}
  ${after === undefined ? sql`` : sql`and ${id} < ${after}`}`;
