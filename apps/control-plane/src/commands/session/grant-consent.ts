import { grantsNothing, policySchemaVersion } from "@svc/core";
import type { SessionFacts } from "../../ports/session-state.ts";
import type { CommandDeps } from "../deps.ts";

export type ConsentDeps = Pick<
  CommandDeps,
  "clock" | "ids" | "policies" | "sessionStarts" | "consentTtlSeconds" | "signer" | "requireAcknowledged"
>;

export interface GrantConsent {
  readonly scope: string;
  readonly userSub: string;
  readonly ttlSeconds: number | undefined;
  /** The version that the human saw. */
  readonly policyVersion: number | undefined;
  /** The label of the bearer that consents for the human. */
  readonly consentedBy: string;
}

export type Consented =
  | { readonly kind: "granted"; readonly session: SessionFacts; readonly rootGrant: string }
  | { readonly kind: "scope_not_found" }
  | { readonly kind: "policy_recompile_required" }
  | { readonly kind: "policy_version_changed"; readonly currentVersion: number };

/** Starts a session, which pins the scope's current policy (docs/reference/routes.md#consent). */
export async function grantConsent(deps: ConsentDeps, command: GrantConsent): Promise<Consented> {
  deps.requireAcknowledged();
  const latest = await deps.policies.latest(command.scope);
  if (latest === undefined) return { kind: "scope_not_found" };
  if (latest.schemaVersion !== policySchemaVersion) return { kind: "policy_recompile_required" };
  const policy = await deps.policies.pinned(command.scope, latest.version);
  if (policy === undefined || grantsNothing(policy.policy.document)) return { kind: "scope_not_found" };
  if (command.policyVersion !== undefined && command.policyVersion !== latest.version) {
    return { kind: "policy_version_changed", currentVersion: latest.version };
  }
  const nowMs = deps.clock.nowMs();
  const session: SessionFacts = {
    sessionId: deps.ids.next(),
    userSub: command.userSub,
    scope: command.scope,
    policyVersion: latest.version,
    hopBudget: policy.policy.document.hop_budget,
    consentedBy: command.consentedBy,
    consentedAtMs: nowMs,
    expiresAtMs: nowMs + (command.ttlSeconds ?? deps.consentTtlSeconds) * 1000,
  };
  const denialEpoch = await deps.sessionStarts.create(session, deps.ids.next());
  return { kind: "granted", session, rootGrant: await deps.signer.rootGrant(session, denialEpoch) };
}
