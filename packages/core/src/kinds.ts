/** Closed sets that more than one module uses. */
export const targetKinds = ["tool", "agent"] as const;
export type TargetKind = (typeof targetKinds)[number];

/** What a page of decisions begins with. */
export const decisionOrders = ["newest", "oldest"] as const;
export type DecisionOrder = (typeof decisionOrders)[number];

export const outcomes = ["allow", "deny"] as const;
export type Outcome = (typeof outcomes)[number];

/** What verifies a tool's calls, strongest first (docs/reference/manifest.md#the-document). */
export const guaranteeLevels = ["full", "connector", "network", "consent_only"] as const;
export type GuaranteeLevel = (typeof guaranteeLevels)[number];

export const accessKinds = ["read", "write"] as const;
export type Access = (typeof accessKinds)[number];

/** What the newest policies do with the calls of a would-block group. */
export const wouldBlockStatuses = ["open", "admitted"] as const;

/** The endpoint whose decision a record holds. */
export const decisionStages = ["authorize", "exchange", "mint"] as const;
export type DecisionStage = (typeof decisionStages)[number];

export const manifestStatuses = ["reconciled", "attested", "rejected", "needs_review"] as const;
export type ManifestStatus = (typeof manifestStatuses)[number];

export const popFailureCauses = ["missing", "invalid", "wrong_agent", "not_enrolled"] as const;
export type PopFailureCause = (typeof popFailureCauses)[number];

export const sessionStatuses = ["active", "expired", "revoked"] as const;
export type SessionStatus = (typeof sessionStatuses)[number];

/** What an emergency block may deny. */
export const blockKinds = ["tool", "agent", "scope"] as const;
export type BlockKind = (typeof blockKinds)[number];

/** Acts of people and of the service that the record keeps beside the decisions (docs/reference/record.md#events). */
export const administrativeEventKinds = [
  "manifest_submitted",
  "manifest_overridden",
  "consent_granted",
  "consent_refused",
  "token_renewed",
  "enroll_token_issued",
  "agent_enrolled",
  "agent_quarantined",
  "quarantine_lifted",
  "agent_revoked",
  "block_set",
  "block_lifted",
  "key_rotated",
  "key_removed",
  "issuer_epoch_raised",
  "session_revoked",
  "records_retired",
  "signed_in",
  "sign_in_ended",
  "console_viewed",
] as const;
export type AdministrativeEventKind = (typeof administrativeEventKinds)[number];

/** Those that enforcement points and verifiers get pushed (docs/reference/identity.md#push). */
export const pushedKinds = [
  "agent_enrolled",
  "agent_quarantined",
  "quarantine_lifted",
  "agent_revoked",
  "block_set",
  "block_lifted",
  "key_rotated",
  "key_removed",
  "issuer_epoch_raised",
  "session_revoked",
] as const satisfies readonly AdministrativeEventKind[];
export type PushedKind = (typeof pushedKinds)[number];

/** What a person may do in the console. */
export const consoleRoles = ["audit", "admin"] as const;
export type ConsoleRole = (typeof consoleRoles)[number];

export const signInStatuses = ["active", "expired", "ended"] as const;
export type SignInStatus = (typeof signInStatuses)[number];

/** Where the record is delivered (docs/guides/siem.md#what-is-guaranteed). */
export const sinkNames = ["webhook", "otlp"] as const;
export type SinkName = (typeof sinkNames)[number];

/** What the enforcement point did with a call. */
export const pepOutcomes = ["allowed", "blocked", "observed_would_block"] as const;
export type PepOutcome = (typeof pepOutcomes)[number];

/** Why the enforcement point blocked a call. */
export const blockCauses = [
  "policy",
  "pdp_unreachable",
  "exchange_unreachable",
  "mint_unreachable",
  "audit_unavailable",
  "unauthorized",
  "unresolvable_call",
  "body_too_large",
  "unbindable",
  "other",
] as const;
export type BlockCause = (typeof blockCauses)[number];

/** The agent name pattern and the tool alphabet overlap, so a mark on the human has no name: it is null. */
export type ChainMember = string | null;

/** The two-point taint lattice, low to high (docs/reference/decision.md#effective-taint). */
export const taints = ["trusted_internal", "untrusted_external"] as const;
export type Taint = (typeof taints)[number];

export const highestTaint = (...levels: readonly Taint[]): Taint =>
  levels.includes("untrusted_external") ? "untrusted_external" : "trusted_internal";

/** States of an agent's identity (docs/reference/identity.md#statuses). One that never enrolled reads as `none`. */
export const identityStatuses = ["none", "enrolled", "quarantined", "revoked"] as const;
export type IdentityStatus = (typeof identityStatuses)[number];

/** Why an enrollment ended in quarantine, in the order they are checked (docs/reference/identity.md#quarantine). */
export const quarantineReasons = ["NO_PRINCIPAL", "NO_IDENTITY_PROVIDER", "PRINCIPAL_INVALID", "KEY_IN_USE"] as const;
export type QuarantineReason = (typeof quarantineReasons)[number];
