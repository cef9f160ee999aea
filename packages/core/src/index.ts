export { type DenyReason, denyReasons, isRecoverable } from "./deny-reason.ts";
export { type ErrorCode, errorCodes, type OAuthErrorCode, oauthErrorCodes } from "./error-code.ts";
export {
  type Access,
  accessKinds,
  type BlockCause,
  blockCauses,
  type ChainMember,
  type DecisionStage,
  decisionStages,
  type GuaranteeLevel,
  guaranteeLevels,
  type ManifestStatus,
  manifestStatuses,
  type Outcome,
  outcomes,
  type PepOutcome,
  type PopFailureCause,
  pepOutcomes,
  popFailureCauses,
  type TargetKind,
  targetKinds,
} from "./kinds.ts";
export {
  agentName,
  dataClass,
  dataClassList,
  isMcpServerRef,
  mcpServerRef,
  protocolDataClass,
  scopeName,
  toolRef,
  userSub,
} from "./names.ts";
export { highestTaint, type Taint, taints } from "./taint-level.ts";
export * from "./wire.ts";
