import {
  type CallEffect,
  type Delegation,
  type HopRequest,
  newMarks,
  type PolicyIndex,
  type PresentState,
  splitDataClasses,
} from "@svc/core";
import { actChain, type HopClaims, sha256Base64url } from "@svc/tokens";
import type { Marking } from "../../ports/decision-log.ts";
import type { KeySet } from "../../ports/issuer-keys.ts";
import type { Present, PresentQuery } from "../../ports/present.ts";
import type { HopDeps } from "./hop-deps.ts";
import { PolicyMissing } from "./hop-faults.ts";

/** Where a verified token stands: its session as it is now, and the policy that session pinned. */
export interface Standing {
  readonly claims: HopClaims;
  readonly present: Present;
  readonly policy: PolicyIndex;
}

/** The claims of a token that this issuer signed and that is neither expired nor superseded. */
export async function verifySubject(deps: VerifyDeps, token: string): Promise<HopClaims | undefined> {
  const known = await verifyUnder(deps, token, deps.issuerKeys.current());
  if (known.ok) return known.claims;
  if (known.cause !== "unknown_key") return undefined;
  const again = await verifyUnder(deps, token, await deps.issuerKeys.recheck());
  return again.ok ? again.claims : undefined;
}

export type VerifyDeps = Pick<HopDeps, "verifyHopToken" | "issuerKeys" | "issuer" | "clock">;

/** The session of a token that verifies by the keys known here. */
export async function sessionOf(deps: VerifyDeps, token: string): Promise<string | undefined> {
  const known = await verifyUnder(deps, token, deps.issuerKeys.current());
  return known.ok ? known.claims.sessionId : undefined;
}

const verifyUnder = (deps: VerifyDeps, token: string, { lookup, minIssuedAtSeconds }: KeySet) =>
  deps.verifyHopToken(token, {
    keys: lookup,
    issuer: deps.issuer,
    nowSeconds: deps.clock.nowMs() / 1000,
    minIssuedAtSeconds,
  });

/**
 * Reads the present state of the token's session. Undefined where there is none, or where the token was signed by a
 * key that was removed since this process read its keys.
 */
export async function readStanding(
  deps: HopDeps,
  token: string,
  claims: HopClaims,
  targetAgent?: string,
): Promise<Standing | undefined> {
  const present = await deps.present.read(presentQuery(deps, claims, targetAgent));
  if (present === undefined) return undefined;
  const known = deps.issuerKeys.current();
  if (known.epoch !== present.epochs.denials) {
    const keys = await deps.issuerKeys.asOf(present.epochs.denials);
    if (!(await verifyUnder(deps, token, keys)).ok) return undefined;
  }
  return { claims, present, policy: await pinnedPolicy(deps, present) };
}

/**
 * Where the token stood when this process last looked, without a trip. What follows from it counts only once a commit
 * under its epochs confirms that it still holds; anything else is to be asked again of `readStanding`.
 */
export async function recallStanding(
  deps: HopDeps,
  claims: HopClaims,
  targetAgent?: string,
): Promise<Standing | undefined> {
  const present = deps.present.recall(presentQuery(deps, claims, targetAgent));
  // Keys of another epoch may be others.
  if (present?.epochs.denials !== deps.issuerKeys.current().epoch) return undefined;
  return { claims, present, policy: await pinnedPolicy(deps, present) };
}

const presentQuery = (deps: HopDeps, claims: HopClaims, targetAgent: string | undefined): PresentQuery => ({
  sessionId: claims.sessionId,
  agents: targetAgent === undefined ? chainOf(claims) : [...chainOf(claims), targetAgent],
  nowMs: deps.clock.nowMs(),
});

async function pinnedPolicy(deps: HopDeps, { session }: Present): Promise<PolicyIndex> {
  const policy = await deps.policies.pinned(session.scope, session.policyVersion);
  if (policy === undefined) throw new PolicyMissing("a session pins a policy that is not stored");
  return policy;
}

/** The agents up to the token's holder; the human is not among them. */
export const chainOf = (claims: HopClaims): readonly string[] => actChain(claims).slice(1);

/** What a root grant's scope names is the consent; a narrowed token's are data classes. */
export const narrowedTo = (claims: HopClaims): readonly string[] | undefined =>
  claims.act === null ? undefined : splitDataClasses(claims.scope);

export type Asked = Pick<HopRequest, "target" | "targetKind" | "dataClass" | "declaredTaint">;

export const toHopRequest = (claims: HopClaims, asked: Asked): HopRequest => ({
  ...asked,
  hop: claims.hop,
  chain: chainOf(claims),
  narrowedTo: narrowedTo(claims),
  tokenTaint: claims.taint,
});

export const toPresentState = (
  deps: HopDeps,
  { session, revoked, identities, blocks, marks }: Present,
  otherScopes: readonly PolicyIndex[] = [],
): PresentState => ({
  session: { expired: deps.clock.nowMs() >= session.expiresAtMs, revoked },
  identities,
  identityRequired: deps.hopSettings.identityRequired,
  blocks,
  marks,
  otherScopes,
});

/** Marks need the session's delegations only where there are any to set, so most decisions commit in one statement. */
export function markingOf(hop: HopRequest, effect: CallEffect, { claims, present }: Standing): Marking {
  const { marks } = present;
  if (newMarks(hop, effect, marks, []).length > 0) {
    const marksFor = (delegations: readonly Delegation[]) => newMarks(hop, effect, marks, delegations);
    return { kind: "marks", marksFor, jtiHash: jtiHashOf(claims) };
  }
  return { kind: effect.kind === "delegation" ? "delegation" : "none" };
}

export const jtiHashOf = (claims: HopClaims): Uint8Array => Buffer.from(sha256Base64url(claims.jti), "base64url");

/** Reading and deciding again is for the rare change in between; a session that changes faster than this is refused. */
export const maxAttempts = 3;
