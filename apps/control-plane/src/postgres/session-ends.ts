import type { EndBatch, EndEvent, Ending, SessionEnds } from "../ports/session-ends.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import type { Pool, Transaction } from "./database.ts";
import { sessionConditions } from "./session-rows.ts";
import { firstIdAt } from "./time-ordered-ids.ts";

/** @param batchDeadlineMs for a batch, which may have to read every running session */
export const sessionEnds = (writer: Pool, batchDeadlineMs: number): SessionEnds => ({
  async end(sessionId, ending, eventOf) {
    const ended = await writer.transaction(async (tx) =>
      endFound(tx, await findOne(tx, sessionId, ending), ending, eventOf),
    );
    return ended.length > 0;
  },
  endSome: (batch, ending, eventOf) =>
    writer.within(batchDeadlineMs).transaction(async (tx) => {
      await tx`select set_config('statement_timeout', ${String(batchDeadlineMs)}, true)`;
      return endFound(tx, await findBatch(tx, batch, ending), ending, eventOf);
    }),
});

interface EndRow {
  session_id: string;
}

const isRunning = (tx: Transaction, { atMs }: Ending) => tx`st.revoked_at is null and s.expires_at > ${new Date(atMs)}`;

const findOne = (tx: Transaction, sessionId: string, ending: Ending) => tx<EndRow[]>`
  select st.session_id from session s join session_state st using (session_id)
  where s.session_id = ${sessionId} and ${isRunning(tx, ending)} for update of st`;

/** A session lives for a day at most (docs/reference/conventions.md#limits); one more for clocks that differ. */
const decisionsOfRunningMs = 2 * 86_400_000;

/** Always in the order of id, so that two calls never wait for each other. */
const findBatch = (tx: Transaction, { filter, after, limit }: EndBatch, ending: Ending) => tx<EndRow[]>`
  select st.session_id from session s join session_state st using (session_id)
  where ${isRunning(tx, ending)} ${sessionConditions(tx, filter, firstIdAt(ending.atMs - decisionsOfRunningMs))}
    ${after === undefined ? tx`` : tx`and s.session_id > ${after}`}
  order by s.session_id limit ${limit} for update of st`;

async function endFound(
  tx: Transaction,
  found: readonly EndRow[],
  { by, atMs, reason }: Ending,
  eventOf: EndEvent,
): Promise<string[]> {
  const ids = found.map(({ session_id }) => session_id);
  await tx`
    update session_state set revoked_at = ${new Date(atMs)}, revoked_by = ${by}, revoked_reason = ${reason},
      epoch = gen_random_uuid()
    where session_id = any(${ids}::uuid[])`;
  await Promise.all(ids.map((id) => insertAdministrativeEvent(tx, eventOf(id))));
  return ids;
}
