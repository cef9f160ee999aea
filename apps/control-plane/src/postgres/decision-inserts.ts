import type { DecisionRecord } from "@svc/core";
import type { Epochs } from "../ports/session-state.ts";
import type { Sql, Transaction } from "./database.ts";
import { arrayLiteral, rowsLiteral, type Value } from "./row-literals.ts";

/** A record to be committed under the epochs it was decided on. */
export interface Append {
  readonly record: DecisionRecord;
  readonly epochs: Epochs;
}

/**
 * Inserts, in one statement, each record whose epochs still stand, and answers which were. A delegation also keeps marks
 * away from its session until it commits.
 */
export async function insertDecisions(
  sql: Sql | Transaction,
  appends: readonly Append[],
  keepMarksAway = false,
): Promise<readonly boolean[]> {
  const inserted = await sql<{ action_id: string }[]>`
    insert into decision (action_id, record_version, session_id, stage, hop, chain, acting_agent, target, target_kind,
      data_class, decision, deny_reason, recoverable, enforced, privileged, taint, taint_source, policy_version,
      guarantee_level, parent_action_id, decided_at, present)
    select r.action_id, r.record_version, st.session_id, r.stage, r.hop, r.chain, r.acting_agent, r.target,
      r.target_kind, r.data_class, r.decision, r.deny_reason, r.recoverable, r.enforced, r.privileged, r.taint,
      r.taint_source, r.policy_version, r.guarantee_level, r.parent_action_id, r.decided_at, r.present
    from unnest(${rowsLiteral(appends.map(toRow))}::text::decision_insert[]) as r
      join session_state st on st.session_id = r.session_id and st.epoch = r.session_epoch
      join denial_epoch d on d.epoch = r.denial_epoch
    ${keepMarksAway ? sql`for share of st` : sql``}
    returning action_id`;
  const ids = new Set(inserted.map(({ action_id }) => action_id));
  return appends.map(({ record }) => ids.has(record.actionId));
}

/** In the order of the type `decision_insert`. */
const toRow = ({ record: r, epochs }: Append): readonly Value[] => [
  r.actionId,
  r.recordVersion,
  r.sessionId,
  r.stage,
  r.hop,
  arrayLiteral(r.chain),
  r.actingAgent,
  r.target,
  r.targetKind,
  r.dataClass,
  r.decision,
  r.denyReason,
  r.recoverable,
  r.enforced,
  r.privileged,
  r.taint,
  r.taintSource,
  r.policyVersion,
  r.guaranteeLevel,
  r.parentActionId,
  new Date(r.decidedAtMs).toISOString(),
  r.present && JSON.stringify(r.present),
  epochs.session,
  epochs.denials,
];
