import type { NewSessionMark, SessionDelegation } from "@svc/core";
import type { Committed, Marking } from "../ports/decision-log.ts";
import type { Epochs } from "../ports/sessions.ts";
import type { Pool, Transaction } from "./database.ts";
import { lockFamily, type MarkedAction, markFamily } from "./families.ts";

/** Rolls back: the record or spend of the marks was not written. */
class Stale extends Error {}

type SetMarks = Extract<Marking, { kind: "marks" }>;

/** Sets marks and inserts what makes them, both or neither. Undefined if `epochs` were replaced since. */
export const commitMarks = (
  pool: Pool,
  action: MarkedAction,
  marking: SetMarks,
  epochs: Epochs,
  insert: (tx: Transaction, epochs: Epochs) => Promise<readonly boolean[]>,
): Promise<Committed | undefined> =>
  pool
    .transaction(async (tx) => {
      const epoch = crypto.randomUUID();
      const marks = await setMarks(tx, action, marking, epochs, epoch);
      const [isInserted] = await insert(tx, { ...epochs, session: epoch });
      if (!isInserted) throw new Stale();
      return { marks };
    })
    .catch((error: unknown) => {
      if (error instanceof Stale) return undefined;
      throw error;
    });

/**
 * Under the session's lock, which `epoch` replaces, and returns how many. It reads the delegations under that lock: a
 * concurrent edge commits before it, and is seen, or finds another epoch, and is decided again. A spent token never
 * marks.
 */
async function setMarks(
  tx: Transaction,
  action: MarkedAction,
  { marksFor, jtiHash }: SetMarks,
  epochs: Epochs,
  epoch: string,
): Promise<number> {
  await lockFamily(tx, action.sessionId);
  const { count } = await tx`
    update session_state set epoch = ${epoch} where session_id = ${action.sessionId} and epoch = ${epochs.session}`;
  if (count === 0) throw new Stale();
  const [spent] = await tx`select from spend where jti_hash = ${jtiHash} and session_id = ${action.sessionId}`;
  const marks = spent === undefined ? marksFor(await delegations(tx, action.sessionId)) : [];
  await insertMarks(tx, action, marks);
  await markFamily(tx, action, marks);
  return marks.length;
}

const delegations = (tx: Transaction, sessionId: string) => tx<SessionDelegation[]>`
  select acting_agent as from, target as to, not bool_or(decision = 'allow') as observed from decision
  where session_id = ${sessionId} and target_kind = 'agent' and hop > 1 and stage = 'authorize'
    and (decision = 'allow' or not enforced)
  group by acting_agent, target`;

async function insertMarks(tx: Transaction, action: MarkedAction, marks: readonly NewSessionMark[]): Promise<void> {
  for (const { member, source, observed } of marks) {
    await tx`
      insert into taint_mark (session_id, member, source, action_id, marked_at, observed)
      values (${action.sessionId}, ${member}, ${source}, ${action.actionId}, ${new Date(action.atMs)}, ${observed})
      on conflict do nothing`;
  }
}
