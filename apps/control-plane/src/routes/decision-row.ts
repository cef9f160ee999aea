import type { chainHop, DecisionRecord, decisionRow } from "@svc/core";
import type { z } from "zod";
import type { DecisionRow } from "../ports/decision-log.ts";

export const toChainHop = (record: DecisionRecord): z.input<typeof chainHop> => ({
  hop: record.hop,
  action_id: record.actionId,
  acting_agent: record.actingAgent,
  target: record.target,
  target_kind: record.targetKind,
  data_class: record.dataClass,
  decision: record.decision,
  deny_reason: record.denyReason,
  enforced: record.enforced,
  ts: new Date(record.decidedAtMs).toISOString(),
});

export const toDecisionRow = ({ record, spentAtMs, paramsHash }: DecisionRow): z.input<typeof decisionRow> => ({
  ...toChainHop(record),
  session_id: record.sessionId,
  stage: record.stage,
  recoverable: record.recoverable,
  privileged: record.privileged,
  taint: record.taint,
  taint_source: record.taintSource,
  policy_version: record.policyVersion,
  guarantee_level: record.guaranteeLevel,
  parent_action_id: record.parentActionId,
  spent_at: spentAtMs === null ? null : new Date(spentAtMs).toISOString(),
  params_hash: paramsHash,
});
