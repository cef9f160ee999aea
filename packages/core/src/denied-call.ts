import type { DenyReason } from "./deny-reason.ts";
import type { BlockCause } from "./kinds.ts";

/** What would admit a denied call, for the agent that made it, its model or its person. */
export const admittedBy = {
  SESSION_EXPIRED: "ask the person to consent again",
  SESSION_REVOKED: "ask the person to consent again, if the session was not ended on purpose",
  AGENT_REVOKED: "register the workload of the revoked agent as a new agent, then ask the person to consent again",
  AGENT_QUARANTINED: "enroll the quarantined agent for a person",
  IDENTITY_REQUIRED: "enroll the calling agent's key",
  TARGET_BLOCKED: "wait until the emergency block is lifted",
  PATH_NOT_DECLARED: "declare the delegation in the manifest of the agent that delegates",
  HOP_BUDGET_EXCEEDED: "raise the hop_budget in the manifests of the chain's agents, or delegate less often",
  TARGET_NOT_DECLARED: "declare the target in the calling agent's manifest, or call one that it declares",
  SCOPE_NOT_CONSENTED: "ask the person to consent to one of these scopes: {scopes}",
  DATA_CLASS_NOT_DECLARED: "declare the target for the data class {data_class} in the calling agent's manifest",
  DATA_CLASS_WIDENED: "delegate for the data class {data_class} at the hop before",
  TAINT_BLOCKED: "call it in a session that has read no untrusted data, or declare that it accepts taint",
} as const satisfies Record<DenyReason, string>;

interface DeniedCall {
  readonly reason: DenyReason;
  readonly dataClass: string;
  readonly consentableScopes: readonly string[];
}

/** The same, for one call. */
export const remedyOfDeny = ({ reason, dataClass, consentableScopes }: DeniedCall): string =>
  admittedBy[reason].replace("{scopes}", consentableScopes.join(", ") || "none").replace("{data_class}", dataClass);

/** Where the pages explain a deny reason, or a cause for which the enforcement point blocks. */
export const explainedAt = (why: DenyReason | BlockCause): string => `docs/troubleshooting.md#${why.toLowerCase()}`;
