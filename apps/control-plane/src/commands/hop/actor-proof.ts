import {
  type HopRequest,
  isInGoodStanding,
  lendersOf,
  type PolicyIndex,
  type PopFailureCause,
  type PresentDenials,
} from "@svc/core";
import { popFailureCause, sha256Base64url, verifyActorProof } from "@svc/tokens";
import type { Prover } from "../../ports/spend-ledger.ts";
import type { HopDeps } from "../deps.ts";

export type Proven =
  | { readonly ok: true; readonly prover: Prover | undefined }
  | { readonly ok: false; readonly cause: PopFailureCause };

/**
 * Checks the actor token of a request. It must be valid if it is there, and with `identityRequired` it must be there.
 * `expected` are the agents that may sign it (docs/reference/identity.md#proofs).
 */
export async function proveActor(
  deps: HopDeps,
  subjectToken: string,
  actorToken: string | undefined,
  expected: readonly string[],
): Promise<Proven> {
  if (actorToken === undefined) {
    return deps.hopSettings.identityRequired ? { ok: false, cause: "missing" } : { ok: true, prover: undefined };
  }
  const keysOf = (agent: string) => (expected.includes(agent) ? deps.agentKeys.keysOf(agent) : undefined);
  const nowSeconds = deps.clock.nowMs() / 1000;
  const verified = await verifyActorProof(actorToken, { subjectToken }, { keysOf, audience: deps.issuer, nowSeconds });
  if (!verified.ok) return { ok: false, cause: popFailureCause(verified.cause) };
  const { agent, jti } = verified.proof;
  return { ok: true, prover: { agent, proofJtiHash: Buffer.from(sha256Base64url(jti), "base64url") } };
}

/** The caller. At hop 1 the human calls: the target agent, or an agent that lends the tool. */
export function proversOf(
  policy: PolicyIndex,
  hop: Pick<HopRequest, "chain" | "target" | "targetKind" | "dataClass">,
  present: PresentDenials,
): readonly string[] {
  const caller = hop.chain.at(-1);
  if (caller !== undefined) return [caller];
  return hop.targetKind === "agent" ? [hop.target] : lendingNow(lendersOf(policy, hop), present);
}

/** Those in good standing. Where none is, all of them: then the verdict denies with any proof. */
export function lendingNow(lenders: readonly string[], present: PresentDenials): readonly string[] {
  const standing = lenders.filter((agent) => isInGoodStanding(agent, present));
  return standing.length > 0 ? standing : lenders;
}
