import type { DecisionRecord, RecordedPresent } from "@svc/core";
import type { Sql, Transaction } from "./database.ts";

export interface DecisionColumns {
  action_id: string;
  record_version: number;
  session_id: string;
  stage: DecisionRecord["stage"];
  hop: number;
  chain: string[];
  acting_agent: string;
  target: string;
  target_kind: DecisionRecord["targetKind"];
  data_class: string;
  decision: DecisionRecord["decision"];
  deny_reason: DecisionRecord["denyReason"];
  recoverable: boolean;
  enforced: boolean;
  privileged: boolean;
  taint: DecisionRecord["taint"];
  taint_source: string | null;
  policy_version: number;
  guarantee_level: DecisionRecord["guaranteeLevel"];
  parent_action_id: string | null;
  decided_at: Date;
  present: RecordedPresent | null;
}

/** The columns of a record, for every statement that reads one; `d` is the decision table. */
export const recordColumns = (sql: Sql | Transaction) => sql`
  d.action_id, d.record_version, d.session_id, d.stage, d.hop, d.chain, d.acting_agent, d.target, d.target_kind,
  d.data_class, d.decision, d.deny_reason, d.recoverable, d.enforced, d.privileged, d.taint, d.taint_source,
  d.policy_version, d.guarantee_level, d.parent_action_id, d.decided_at, d.present`;

export const toRecord = (row: DecisionColumns): DecisionRecord => ({
  actionId: row.action_id,
  recordVersion: row.record_version,
  sessionId: row.session_id,
  stage: row.stage,
  hop: row.hop,
  chain: row.chain,
  actingAgent: row.acting_agent,
  target: row.target,
  targetKind: row.target_kind,
  dataClass: row.data_class,
  decision: row.decision,
  denyReason: row.deny_reason,
  recoverable: row.recoverable,
  enforced: row.enforced,
  privileged: row.privileged,
  taint: row.taint,
  taintSource: row.taint_source,
  policyVersion: row.policy_version,
  guaranteeLevel: row.guarantee_level,
  parentActionId: row.parent_action_id,
  decidedAtMs: row.decided_at.getTime(),
  present: row.present,
});
