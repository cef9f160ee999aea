import type { PolicyIndex, PopFailureCause, TargetKind } from "@svc/core";
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

/** The caller. At hop 1 the human calls: the target agent, or an entry agent that declares the tool. */
export function proversOf(
  policy: PolicyIndex,
  chain: readonly string[],
  target: { readonly name: string; readonly kind: TargetKind },
): readonly string[] {
  const caller = chain.at(-1);
  if (caller !== undefined) return [caller];
  if (target.kind === "agent") return [target.name];
  return [...policy.human.downstream].filter((name) => policy.agents.get(name)?.tools.has(target.name));
}
