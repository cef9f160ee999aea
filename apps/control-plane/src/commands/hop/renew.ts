import { type DenyReason, decideCaller, effectiveTaint, type PopFailureCause } from "@svc/core";
import { callerOfToken, type HopClaims, siblingClaims } from "@svc/tokens";
import { proveActor } from "./actor-proof.ts";
import { guardEntry } from "./exchange.ts";
import type { HopDeps } from "./hop-deps.ts";
import { SpendUnavailable } from "./hop-faults.ts";
import {
  jtiHashOf,
  maxAttempts,
  readStanding,
  recallStanding,
  type Standing,
  toHopRequest,
  toPresentState,
  verifySubject,
} from "./standing.ts";

export interface RenewCommand {
  /** The bearer: the current-hop token. */
  readonly token: string;
  /** 1-8. */
  readonly count: number;
  readonly actorToken: string | undefined;
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

/** Every renewal of one token claims the same guard entry, so that a late write of our own is told from an exchange. */
const renewalAction = "renewal";

/**
 * Spends the token for siblings at the same place in the chain (contract: Renewal). A sibling is worth nothing without
 * a committed allow of its own.
 * @throws {SpendUnavailable} where the single use could not be decided; nothing was issued.
 */
export async function renew(deps: HopDeps, command: RenewCommand): Promise<Renewed> {
  deps.requireAcknowledged();
  const subject = await verifySubject(deps, command.token);
  if (subject === undefined || subject.targetKind === "tool") return { kind: "unauthorized" };
  const recalled = await recallStanding(deps, subject);
  if (recalled !== undefined) {
    const result = await attemptRenewal(deps, command, recalled);
    if (result !== "stale" && result.kind === "renewed") return result;
  }
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const standing = await readStanding(deps, command.token, subject);
    if (standing === undefined) return { kind: "unauthorized" };
    const result = await attemptRenewal(deps, command, standing);
    if (result !== "stale") return result;
  }
  throw new SpendUnavailable("the session changed with every attempt to spend its token");
}

async function attemptRenewal(deps: HopDeps, command: RenewCommand, standing: Standing): Promise<Renewed | "stale"> {
  const { claims: subject, policy, present } = standing;
  const hop = toHopRequest(subject, { target: "", targetKind: "agent", dataClass: "", declaredTaint: undefined });
  const caller = hop.chain.at(-1);
  const expected = caller === undefined ? [...policy.human.downstream] : [caller];
  const proven = await proveActor(deps, command.token, command.actorToken, expected);
  if (!proven.ok) return { kind: "invalid_proof", cause: proven.cause };
  const jtiHash = jtiHashOf(subject);
  const reason = decideCaller(policy, hop, toPresentState(deps, present));
  if (reason !== undefined) {
    // A spend would find out: that the token is gone is told first, whatever became of its session.
    const { token: isSpent } = await deps.spends.spent(subject.sessionId, jtiHash, undefined);
    return isSpent ? { kind: "token_spent", subject } : { kind: "refused", reason, subject };
  }

  const entry = guardEntry(deps, subject, renewalAction);
  const claimed = await deps.guard.claim(entry);
  if (claimed === "other_action") return { kind: "token_spent", subject };
  const outcome = await deps.spends.spend(
    {
      kind: "renewal",
      jtiHash,
      sessionId: subject.sessionId,
      prover: proven.prover,
      spentAtMs: deps.clock.nowMs(),
      renewalId: deps.ids.next(),
      actor: callerOfToken(subject),
      agent: caller ?? null,
    },
    { kind: "none" },
    present.epochs,
  );
  if (outcome.kind === "spent") {
    return issueSiblings(deps, command.count, standing, effectiveTaint(hop, present.marks).taint);
  }
  if (outcome.kind !== "token_spent" && claimed === "claimed") await deps.guard.release(entry);
  if (outcome.kind === "proof_used") return { kind: "invalid_proof", cause: "invalid" };
  return outcome.kind === "stale" ? "stale" : { kind: "token_spent", subject };
}

async function issueSiblings(
  deps: HopDeps,
  count: number,
  { claims: subject, present }: Standing,
  taint: HopClaims["taint"],
): Promise<Renewed> {
  const nowSeconds = Math.floor(deps.clock.nowMs() / 1000);
  const sessionExpiresAtSeconds = present.session.expiresAtMs / 1000;
  const siblings = Array.from({ length: count }, () =>
    siblingClaims(subject, taint, { jti: deps.ids.next(), nowSeconds, sessionExpiresAtSeconds }),
  );
  return {
    kind: "renewed",
    tokens: await Promise.all(siblings.map(deps.issueHopToken)),
    expiresInSeconds: Math.min(...siblings.map(({ exp }) => exp)) - nowSeconds,
    subject,
  };
}
