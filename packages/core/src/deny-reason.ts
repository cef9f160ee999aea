/**
 * The checks in order (docs/reference/decision.md#the-ten-checks); the first that fails gives the reason. A `caller` check judges who
 * calls and needs no target: renewal runs these alone. A `call` check judges the call itself.
 */
export const checkKinds = {
  session: "caller",
  revocation: "caller",
  identity: "caller",
  block: "caller",
  path: "call",
  hop_budget: "call",
  target: "call",
  data_class: "call",
  narrowing: "call",
  taint: "call",
} as const;

export type CheckName = keyof typeof checkKinds;
export const checkNames = Object.keys(checkKinds) as readonly CheckName[];

export interface DenyReasonRow {
  /** The checks that give the reason, in their order. */
  readonly checks: readonly [CheckName, ...CheckName[]];
  /** Why the call was denied, for the console. */
  readonly label: string;
  /** The human's consent to another scope could admit the call. */
  readonly isRecoverable: boolean;
  /** Nothing later in the session admits this caller again. */
  readonly isFinal: boolean;
  readonly logLevel: "info" | "warn";
  /** What admits the denied calls: a change of the caller's manifest, or this advice. */
  readonly remedy: { readonly change: "target" | "data_class" | "accepts_taint" } | { readonly advice: string };
}

const row = (
  checks: DenyReasonRow["checks"],
  label: string,
  remedy: DenyReasonRow["remedy"],
  { isRecoverable = false, isFinal = false, logLevel = "info" }: Partial<DenyReasonRow> = {},
): DenyReasonRow => ({ checks, label, remedy, isRecoverable, isFinal, logLevel });

/** Every reason a decision can deny for, in the order of the checks (docs/reference/decision.md#the-ten-checks). */
const rows = {
  SESSION_EXPIRED: row(
    ["session"],
    "the session expired",
    { advice: "The sessions had expired. Nothing to declare: consent again, or for longer." },
    { isFinal: true },
  ),
  SESSION_REVOKED: row(
    ["session"],
    "the session was revoked",
    { advice: "The sessions had been revoked. Nothing to declare: the audit events show by whom and why." },
    { isFinal: true },
  ),
  AGENT_REVOKED: row(
    ["revocation"],
    "an agent of the chain, or that lends the tool, is revoked",
    {
      advice:
        "An agent of the chain, or that lends the tool, is revoked for good. Nothing to declare: register its workload as a new agent.",
    },
    { isFinal: true },
  ),
  AGENT_QUARANTINED: row(["identity"], "an agent of the chain, or that lends the tool, is quarantined", {
    advice:
      "An agent of the chain, or that lends the tool, is quarantined. Nothing to declare: enroll it for a person.",
  }),
  IDENTITY_REQUIRED: row(["identity"], "the caller has no enrolled key", {
    advice: "The caller is not enrolled. Nothing to declare: enroll it.",
  }),
  TARGET_BLOCKED: row(["block"], "an emergency block covers the call", {
    advice: "An emergency block covers the calls. Nothing to declare: lift it once its cause is gone.",
  }),
  PATH_NOT_DECLARED: row(["path", "hop_budget"], "no manifest declares this chain of delegations", {
    advice: "A link of the chain is not declared. The explanation of one of the calls names the manifest.",
  }),
  HOP_BUDGET_EXCEEDED: row(["hop_budget"], "the chain is longer than declared", {
    advice:
      'The chain is longer than a hop budget. The explanation of one of the calls names the agents whose "hop_budget" to raise.',
  }),
  TARGET_NOT_DECLARED: row(["target"], "the caller does not declare the target", { change: "target" }),
  SCOPE_NOT_CONSENTED: row(
    ["target", "data_class"],
    "declared, but under another scope",
    { change: "target" },
    { isRecoverable: true },
  ),
  DATA_CLASS_NOT_DECLARED: row(["data_class"], "the target is not declared for this data class", {
    change: "data_class",
  }),
  DATA_CLASS_WIDENED: row(["narrowing"], "the hop before asked for less", {
    advice:
      "The hop before asked for less than this one. Nothing to declare: delegate for the data class that is needed.",
  }),
  TAINT_BLOCKED: row(["taint"], "the session touched untrusted data", { change: "accepts_taint" }),
} as const;

export type DenyReason = keyof typeof rows;

/** The only place where a reason is defined: order, words, log level and what can be done about it follow from it. */
export const denyReasonTable: Readonly<Record<DenyReason, DenyReasonRow>> = rows;
export const denyReasons = Object.keys(rows) as readonly DenyReason[];

export const isRecoverable = (reason: DenyReason): boolean => denyReasonTable[reason].isRecoverable;

/**
 * The verdict found the call's data class declared, by itself or below a declared one: an allow (null), or a reason of
 * a later check. Every span names the class by this rule (docs/reference/telemetry.md#span-attributes).
 */
export const isDataClassDeclared = (reason: DenyReason | null): boolean =>
  reason === null || checkNames.indexOf(denyReasonTable[reason].checks[0]) > checkNames.indexOf("data_class");
