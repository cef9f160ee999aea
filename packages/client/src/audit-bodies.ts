import {
  chainBreakReasons,
  decisionStages,
  denyReasons,
  guaranteeLevels,
  outcomes,
  taints,
  targetKinds,
} from "@svc/core";
import { z } from "zod";

/** Answers of the audit plane, out of their wire spelling. Times are ISO 8601, UTC. */

const hopMembers = {
  hop: z.int(),
  action_id: z.string(),
  acting_agent: z.string(),
  target: z.string(),
  target_kind: z.enum(targetKinds),
  data_class: z.string(),
  decision: z.enum(outcomes),
  deny_reason: z.enum(denyReasons).nullable(),
  enforced: z.boolean(),
  ts: z.string(),
};
const wireHop = z.object(hopMembers);

const toHop = (row: z.output<typeof wireHop>) => ({
  hop: row.hop,
  actionId: row.action_id,
  actingAgent: row.acting_agent,
  target: row.target,
  targetKind: row.target_kind,
  dataClass: row.data_class,
  decision: row.decision,
  denyReason: row.deny_reason,
  enforced: row.enforced,
  ts: row.ts,
});

export const chainRead = z
  .object({
    root: z.object({ user_sub: z.string(), scope: z.string(), consented_at: z.string(), session_id: z.string() }),
    hops: z.array(wireHop.transform(toHop)),
    complete: z.boolean(),
    break: z.object({ at_hop: z.int(), reason: z.enum(chainBreakReasons) }).nullable(),
  })
  .transform(({ root, hops, complete, break: broken }) => ({
    root: {
      userSub: root.user_sub,
      scope: root.scope,
      consentedAt: root.consented_at,
      sessionId: root.session_id,
    },
    hops,
    complete,
    break: broken && { atHop: broken.at_hop, reason: broken.reason },
  }));
/** The delegation chain of an action back to the consenting human; `break` says where it could not be read on. */
export type ChainRead = Readonly<z.output<typeof chainRead>>;
/** One recorded hop of a delegation chain. */
export type ChainHop = ChainRead["hops"][number];

export const decisionRow = z
  .object({
    ...hopMembers,
    session_id: z.string(),
    stage: z.enum(decisionStages),
    recoverable: z.boolean(),
    privileged: z.boolean(),
    taint: z.enum(taints),
    taint_source: z.string().nullable(),
    policy_version: z.int(),
    guarantee_level: z.enum(guaranteeLevels).nullable(),
    parent_action_id: z.string().nullable(),
    spent_at: z.string().nullable(),
    params_hash: z.string().nullable(),
  })
  .transform((row) => ({
    ...toHop(row),
    sessionId: row.session_id,
    stage: row.stage,
    recoverable: row.recoverable,
    privileged: row.privileged,
    taint: row.taint,
    taintSource: row.taint_source,
    policyVersion: row.policy_version,
    guaranteeLevel: row.guarantee_level,
    parentActionId: row.parent_action_id,
    spentAt: row.spent_at,
    paramsHash: row.params_hash,
  }));
/** One recorded decision. */
export type DecisionRow = Readonly<z.output<typeof decisionRow>>;
