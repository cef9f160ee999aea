import type { AdministrativeEvent } from "../ports/administrative-event.ts";
import type { Transaction } from "./database.ts";

/** In the transaction of the act itself, so that neither stands without the other. */
export async function insertAdministrativeEvent(tx: Transaction, event: AdministrativeEvent): Promise<void> {
  await tx`
    insert into administrative_event (event_id, kind, ts, actor, session_id, agent, reason, details)
    values (${event.eventId}, ${event.kind}, ${new Date(event.atMs)}, ${event.actor}, ${event.sessionId},
      ${event.agent}, ${event.reason}, ${tx.json(event.details)})`;
}
