import type { Delegation, NewMark } from "@svc/core";
import type { Marking } from "../ports/decision-log.ts";
import type { Epochs } from "../ports/session-state.ts";
import type { Transaction } from "./database.ts";

/** Rolls back: the record or spend of the marks was not written. */
export class Stale extends Error {}

export function staleIfRolledBack(error: unknown): "stale" {
  if (error instanceof Stale) return "stale";
  throw error;
}

export interface MarkedAction {
  readonly sessionId: string;
  readonly actionId: string;
  readonly atMs: number;
}

/**
 * Sets marks under the session's lock and returns the new epochs. It reads the delegations under that lock: a concurrent
 * edge commits before it, and is seen, or finds another epoch, and is decided again. A spent token never marks.
 * @throws {Stale} if the session changed since `epochs` were read.
 */
export async function setMarks(
  tx: Transaction,
  action: MarkedAction,
  { marksFor, jtiHash }: Extract<Marking, { kind: "marks" }>,
  epochs: Epochs,
): Promise<{ readonly epochs: Epochs; readonly marks: number }> {
  const epoch = crypto.randomUUID();
  const { count } = await tx`
    update session_state set epoch = ${epoch} where session_id = ${action.sessionId} and epoch = ${epochs.session}`;
  if (count === 0) throw new Stale();
  const [spent] = await tx`select from spend where jti_hash = ${jtiHash} and session_id = ${action.sessionId}`;
  const marks = spent === undefined ? marksFor(await delegations(tx, action.sessionId)) : [];
  await insertMarks(tx, action, marks);
  return { epochs: { ...epochs, session: epoch }, marks: marks.length };
}

const delegations = (tx: Transaction, sessionId: string) => tx<Delegation[]>`
  select distinct acting_agent as from, target as to from decision
  where session_id = ${sessionId} and target_kind = 'agent' and hop > 1 and stage = 'authorize'
    and (decision = 'allow' or not enforced)`;

async function insertMarks(tx: Transaction, action: MarkedAction, marks: readonly NewMark[]): Promise<void> {
  for (const { member, source } of marks) {
    await tx`
      insert into taint_mark (session_id, member, source, action_id, marked_at)
      values (${action.sessionId}, ${member}, ${source}, ${action.actionId}, ${new Date(action.atMs)})
      on conflict do nothing`;
  }
}
