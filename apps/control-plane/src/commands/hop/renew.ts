import {
  type DenyReason,
  decideCaller,
  effectiveTaint,
  entryAgents,
  type PopFailureCause,
  type renewRequest,
} from "@svc/core";
import { callerOfToken, type HopClaims, siblingClaims } from "@svc/tokens";
import type { BodyOf, HopDeps } from "../deps.ts";
import { lendingNow, proveActor } from "./actor-proof.ts";
import { type HopState, jtiHashOf, onHopState, SpendUnavailable, toHopRequest, toPresentState } from "./hop-state.ts";
import { requireVerified, type SubjectToken } from "./hop-tokens.ts";
import { type SpendPurpose, spendToken } from "./spend-token.ts";

interface RenewCommand extends BodyOf<typeof renewRequest> {
  /** A current-hop token. */
  readonly subject: SubjectToken;
}

export type Renewed =
  | {
      readonly kind: "renewed";
      readonly tokens: readonly string[];
      readonly expiresInSeconds: number;
      readonly subject: HopClaims;
    }
  | { readonly kind: "unauthorized" }
  | { readonly kind: "invalid_proof"; readonly cause: PopFailureCause }
  | { readonly kind: "token_spent"; readonly subject: HopClaims }
  | { readonly kind: "refused"; readonly reason: DenyReason; readonly subject: HopClaims };

/**
 * Spends the token for siblings at the same place in the chain (docs/reference/routes.md#renewal). A sibling is worth
 * nothing without a committed allow of its own.
 * @throws {SpendUnavailable} if the single use could not be decided; no token was issued.
 */
export async function renew(deps: HopDeps, command: RenewCommand): Promise<Renewed> {
  deps.requireAcknowledged();
  const subject = requireVerified(command.subject);
  const renewed = await onHopState<Renewed>(deps, {
    subject,
    lenders: entryAgents,
    confirmed: ["renewed"],
    attempt: (state) => attemptRenewal(deps, command, state),
    exhausted: () => new SpendUnavailable("the session changed during every attempt to spend the token"),
  });
  return renewed ?? { kind: "unauthorized" };
}

async function attemptRenewal(deps: HopDeps, command: RenewCommand, state: HopState): Promise<Renewed | "stale"> {
  const { claims: subject, policy, session } = state;
  const hop = toHopRequest(subject, { target: "", targetKind: "agent", dataClass: "", declaredTaint: undefined });
  const agent = hop.chain.at(-1) ?? null;
  const expected = agent === null ? lendingNow(entryAgents(policy), session) : [agent];
  const proven = await proveActor(deps, command.subject.token, command.actorToken, expected);
  if (!proven.ok) return { kind: "invalid_proof", cause: proven.cause };
  const reason = decideCaller(policy, hop, toPresentState(deps, session, true));
  if (reason !== undefined) {
    // A spent token is reported as spent, whatever else holds of its session.
    const { token: isSpent } = await deps.spends.spent(subject.sessionId, jtiHashOf(subject), undefined);
    return isSpent ? { kind: "token_spent", subject } : { kind: "refused", reason, subject };
  }
  const renewalId = deps.ids.next();
  const purpose: SpendPurpose = { kind: "renewal", renewalId, actor: callerOfToken(subject), agent };
  const outcome = await spendToken(deps, state, proven.prover, purpose, { kind: "none" });
  switch (outcome.kind) {
    case "spent":
      return issueSiblings(deps, command.count, state, effectiveTaint(hop, session.marks.enforced).taint);
    case "stale":
      return "stale";
    case "proof_used":
      return { kind: "invalid_proof", cause: "invalid" };
    default:
      return { kind: "token_spent", subject };
  }
}

async function issueSiblings(
  deps: HopDeps,
  count: number,
  { claims: subject, session }: HopState,
  taint: HopClaims["taint"],
): Promise<Renewed> {
  const nowSeconds = Math.floor(deps.clock.nowMs() / 1000);
  const sessionExpiresAtSeconds = session.facts.expiresAtMs / 1000;
  const siblings = Array.from({ length: count }, () =>
    siblingClaims(subject, taint, { jti: deps.ids.next(), nowSeconds, sessionExpiresAtSeconds }),
  );
  return {
    kind: "renewed",
    tokens: await Promise.all(siblings.map(deps.signer.hopToken)),
    expiresInSeconds: Math.min(...siblings.map(({ exp }) => exp)) - nowSeconds,
    subject,
  };
}
