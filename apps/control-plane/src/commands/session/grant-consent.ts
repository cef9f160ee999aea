import { grantsNothing, policySchemaVersion } from "@svc/core";
import type { Clock, Ids } from "../../ports/clock.ts";
import type { Policies } from "../../ports/policies.ts";
import type { SessionFacts } from "../../ports/session-state.ts";
import type { SessionStarts } from "../../ports/sessions.ts";
import type { TokenSigner } from "../hop/token-signer.ts";

export interface ConsentDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly policies: Policies;
  readonly sessionStarts: SessionStarts;
  /** For a consent that names no lifetime. */
  readonly consentTtlSeconds: number;
  readonly signer: TokenSigner;
  /** Throws while the database is older than one that this deployment served before: then nothing is granted. */
  readonly requireAcknowledged: () => void;
}

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
