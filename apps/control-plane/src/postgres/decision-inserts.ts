import type { DecisionRecord } from "@svc/core";
import type { Epochs } from "../ports/present.ts";
import type { Sql, Transaction } from "./database.ts";

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
    from json_to_recordset(${JSON.stringify(appends.map(toRow))}::text::json) as r (action_id uuid, record_version int,
        session_id uuid, stage text, hop int, chain text[], acting_agent text, target text, target_kind text,
        data_class text, decision text, deny_reason text, recoverable boolean, enforced boolean, privileged boolean,
        taint text, taint_source text, policy_version int, guarantee_level text, parent_action_id uuid,
        decided_at timestamptz, present jsonb, session_epoch uuid, denial_epoch uuid)
      join session_state st on st.session_id = r.session_id and st.epoch = r.session_epoch
      join denial_epoch d on d.epoch = r.denial_epoch
    ${keepMarksAway ? sql`for share of st` : sql``}
    returning action_id`;
  const ids = new Set(inserted.map(({ action_id }) => action_id));
  return appends.map(({ record }) => ids.has(record.actionId));
}

const toRow = ({ record: r, epochs }: Append) => ({
  action_id: r.actionId,
  record_version: r.recordVersion,
  session_id: r.sessionId,
  stage: r.stage,
  hop: r.hop,
  chain: r.chain,
  acting_agent: r.actingAgent,
  target: r.target,
  target_kind: r.targetKind,
  data_class: r.dataClass,
  decision: r.decision,
  deny_reason: r.denyReason,
  recoverable: r.recoverable,
  enforced: r.enforced,
  privileged: r.privileged,
  taint: r.taint,
  taint_source: r.taintSource,
  policy_version: r.policyVersion,
  guarantee_level: r.guaranteeLevel,
  parent_action_id: r.parentActionId,
  decided_at: new Date(r.decidedAtMs),
  present: r.present,
  session_epoch: epochs.session,
  denial_epoch: epochs.denials,
});
