import {
  type DecisionRecord,
  decisionStages,
  denyReasons,
  guaranteeLevels,
  outcomes,
  taints,
  targetKinds,
} from "@svc/core";
import { z } from "zod";
import type { DecisionRow } from "../ports/decision-log.ts";

const timestamp = z.iso.datetime();

/** A decision as the chain shows it (specification: ChainRead). */
export const chainHop = z.object({
  hop: z.int(),
  action_id: z.string(),
  acting_agent: z.string(),
  target: z.string(),
  target_kind: z.enum(targetKinds),
  data_class: z.string(),
  decision: z.enum(outcomes),
  deny_reason: z.enum(denyReasons).nullable(),
  enforced: z.boolean(),
  ts: timestamp,
});

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

/** A decision as the history shows it (contract: Audit, AuditDecisionPage row). */
export const decisionRow = z
  .object({
    ...chainHop.shape,
    session_id: z.string(),
    stage: z.enum(decisionStages),
    recoverable: z.boolean(),
    privileged: z.boolean(),
    taint: z.enum(taints),
    taint_source: z.string().nullable(),
    policy_version: z.int(),
    guarantee_level: z.enum(guaranteeLevels).nullable(),
    parent_action_id: z.string().nullable(),
    spent_at: timestamp.nullable(),
    params_hash: z.string().nullable(),
  })
  .meta({ id: "Decision" });

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
