import type { HopClaims } from "@svc/tokens";
import type { Marking } from "../../ports/decision-log.ts";
import type { GuardClaim } from "../../ports/replay-guard.ts";
import type { Exchange, Prover, Renewal, SpendBase, SpendOutcome } from "../../ports/spend-ledger.ts";
import type { HopDeps } from "../deps.ts";
import { type HopState, jtiHashOf } from "./hop-state.ts";

export type SpendPurpose = Omit<Exchange, keyof SpendBase> | Omit<Renewal, keyof SpendBase>;

/** Spends the token once: in the replay guard first, which is fast, then in the database, which decides. */
export async function spendToken(
  deps: HopDeps,
  { claims, session }: HopState,
  prover: Prover | undefined,
  purpose: SpendPurpose,
  marking: Marking,
): Promise<SpendOutcome> {
  const jtiHash = jtiHashOf(claims);
  const entry = guardEntry(deps, claims, jtiHash, purpose);
  const claimed = await deps.guard.claim(entry);
  if (claimed === "other_action") return { kind: "token_spent" };
  // `same_action` is a late write of this process or a replay. The database knows which.
  const spend = { ...purpose, jtiHash, sessionId: claims.sessionId, prover, spentAtMs: deps.clock.nowMs() };
  const outcome = await deps.spends.spend(spend, marking, session.epochs);
  // The database spent nothing, so the token may still be spent for another action.
  const isUnspent = outcome.kind !== "spent" && outcome.kind !== "token_spent";
  if (isUnspent && claimed === "claimed") await deps.guard.release(entry);
  return outcome;
}

export type GuardEntry = GuardClaim & { readonly ttlSeconds: number };

/** Outlives the token by a minute. All renewals of a token claim the same entry, so that a retry is no replay. */
export const guardEntry = (
  deps: HopDeps,
  { exp }: HopClaims,
  jtiHash: Uint8Array,
  purpose: SpendPurpose,
): GuardEntry => ({
  key: Buffer.from(jtiHash).toString("base64url"),
  actionId: purpose.kind === "exchange" ? purpose.actionId : "renewal",
  ttlSeconds: Math.max(1, Math.ceil(exp - deps.clock.nowMs() / 1000)) + 60,
});
