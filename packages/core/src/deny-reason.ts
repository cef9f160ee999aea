/** Every reason a decision can deny for, in the order the checks run (contract: the verdict function). */
export const denyReasons = [
  "SESSION_EXPIRED",
  "SESSION_REVOKED",
  "AGENT_REVOKED",
  "AGENT_QUARANTINED",
  "IDENTITY_REQUIRED",
  "TARGET_BLOCKED",
  "PATH_NOT_DECLARED",
  "HOP_BUDGET_EXCEEDED",
  "TARGET_NOT_DECLARED",
  "SCOPE_NOT_CONSENTED",
  "DATA_CLASS_NOT_DECLARED",
  "DATA_CLASS_WIDENED",
  "TAINT_BLOCKED",
] as const;
export type DenyReason = (typeof denyReasons)[number];

/** True where asking the human for consent to another scope could admit the call. */
export const isRecoverable = (reason: DenyReason): boolean => reason === "SCOPE_NOT_CONSENTED";
