import { type HopRequest, lendersOf, type PolicyIndex, type PresentState, splitDataClasses } from "@svc/core";
import { actChain, type HopClaims, sha256Base64url } from "@svc/tokens";
import type { SessionState, SessionStateQuery } from "../../ports/sessions.ts";
import type { HopDeps } from "../deps.ts";
import { type VerifiedToken, verifyUnder } from "./hop-tokens.ts";

/** A decision could not be committed, so it must not be returned (docs/reference/routes.md#authorize). */
export class AuditUnavailable extends Error {
  readonly code = "audit_unavailable";
}

/** The single use could not be decided; no token was issued. */
export class SpendUnavailable extends Error {
  readonly code = "guard_unavailable";
}

/** A session's policy row is missing, which only damage to the database can cause. */
export class PolicyMissing extends Error {}

/** The agents up to the token's holder, without the human. */
export const chainOf = (claims: HopClaims): readonly string[] => actChain(claims).slice(1);

/** The scope of a root grant is the consent; the scope of a narrowed token lists data classes. */
export const narrowedTo = (claims: HopClaims): readonly string[] | undefined =>
  claims.act === null ? undefined : splitDataClasses(claims.scope);

export const toHopRequest = (
  claims: HopClaims,
  requested: Pick<HopRequest, "target" | "targetKind" | "dataClass" | "declaredTaint">,
): HopRequest => ({
  ...requested,
  hop: claims.hop,
  chain: chainOf(claims),
  narrowedTo: narrowedTo(claims),
  tokenTaint: claims.taint,
});

export const toPresentState = (
  deps: Pick<HopDeps, "clock" | "hopSettings">,
  { facts, revoked, identities, blocks, marks }: SessionState,
  enforced: boolean,
): PresentState => ({
  session: { expired: deps.clock.nowMs() >= facts.expiresAtMs, revoked },
  identities,
  identityRequired: deps.hopSettings.identityRequired,
  blocks,
  marks: enforced ? marks.enforced : marks.observed,
  otherScopes: [],
});

export const jtiHashOf = ({ jti }: Pick<HopClaims, "jti">): Uint8Array =>
  Buffer.from(sha256Base64url(jti), "base64url");

/** A verified token, the present state of its session, and the policy that the session pinned. */
export interface HopState {
  readonly claims: HopClaims;
  readonly session: SessionState;
  readonly policy: PolicyIndex;
}

/** The agents beside the chain whose present denials count. */
export interface Involved {
  readonly targetAgent?: string | undefined;
  /** Those through which the human calls (docs/reference/decision.md#hop-1). Not called for other hops. */
  readonly lenders?: (policy: PolicyIndex) => readonly string[];
}

interface Attempts<Result extends { readonly kind: string }> extends Involved {
  readonly subject: VerifiedToken;
  /** Results that a commit under the state's epochs confirmed. None: the cache is not used. */
  readonly confirmed: readonly Result["kind"][];
  readonly attempt: (state: HopState) => Promise<Result | "stale">;
  /** Thrown when the session changed during every attempt. */
  readonly exhausted: () => Error;
}

/** On the state in the database. Meanwhile any revocation, block or key may make the result stale. */
const optimisticAttempts = 2;

/** While no such change happens: only the session's own changes make these stale. */
const heldAttempts = 2;

/**
 * Runs `attempt` on the cached state and, unless a commit confirmed that result, on the state in the database; again
 * when that changed meanwhile (`stale`). Undefined as for `loadHopState`.
 */
export async function onHopState<Result extends { readonly kind: string }>(
  deps: HopDeps,
  { subject, confirmed, attempt, exhausted, ...involved }: Attempts<Result>,
): Promise<Result | undefined> {
  const agents = await agentsOf(deps, subject.claims, involved);
  const cached = confirmed.length > 0 ? await cachedHopState(deps, subject.claims, agents) : undefined;
  if (cached !== undefined) {
    const result = await attempt(cached);
    if (result !== "stale" && confirmed.includes(result.kind)) return result;
  }
  const attemptAfresh = async (): Promise<Result | "stale" | undefined> => {
    const state = await loadHopState(deps, subject, agents);
    return state && attempt(state);
  };
  for (let attempts = 0; attempts < optimisticAttempts + heldAttempts; attempts++) {
    const isHeld = attempts >= optimisticAttempts;
    const result = await (isHeld ? deps.denialHold.hold(attemptAfresh) : attemptAfresh());
    if (result !== "stale") return result;
  }
  throw exhausted();
}

/**
 * The chain and those involved. A root grant names the policy of its session, so that one read of the session is enough:
 * `isOfSession` holds it to that.
 */
async function agentsOf(deps: HopDeps, claims: HopClaims, { targetAgent, lenders }: Involved) {
  const policy =
    claims.act === null && lenders !== undefined
      ? await deps.policies.pinned(claims.scope, claims.policyVersion)
      : undefined;
  const lending = policy === undefined ? [] : (lenders?.(policy) ?? []);
  return [...chainOf(claims), ...(targetAgent === undefined ? [] : [targetAgent]), ...lending];
}

const isOfSession = ({ act, scope, policyVersion }: HopClaims, { facts }: SessionState): boolean =>
  act !== null || (scope === facts.scope && policyVersion === facts.policyVersion);

/** Undefined without a session, and for a token whose key was removed since this process read its keys. */
export async function loadHopState(
  deps: HopDeps,
  { token, claims }: VerifiedToken,
  agents: readonly string[] = chainOf(claims),
): Promise<HopState | undefined> {
  const session = await deps.sessionState.read(stateQuery(deps, claims, agents));
  if (session === undefined || !isOfSession(claims, session)) return undefined;
  if (deps.issuerKeys.current().epoch !== session.epochs.denials) {
    const keys = await deps.issuerKeys.asOf(session.epochs.denials);
    if (!(await verifyUnder(deps, token, keys)).ok) return undefined;
  }
  return { claims, session, policy: await pinnedPolicy(deps, session) };
}

/** Costs no round trip. Undefined under another epoch too: its keys may differ. */
async function cachedHopState(
  deps: HopDeps,
  claims: HopClaims,
  agents: readonly string[],
): Promise<HopState | undefined> {
  const session = deps.sessionState.cached(stateQuery(deps, claims, agents));
  if (session?.epochs.denials !== deps.issuerKeys.current().epoch || !isOfSession(claims, session)) return undefined;
  return { claims, session, policy: await pinnedPolicy(deps, session) };
}

/**
 * The state with those who lent the tool of a token that hop 1 issued: such a token does not name the scope, so they are
 * known once the session is read. `stale` if the denials changed meanwhile.
 */
export async function withLenders(deps: HopDeps, state: HopState, hop: HopRequest): Promise<HopState | "stale"> {
  const lenders = lendersOf(state.policy, hop);
  if (lenders.length === 0) return state;
  const session = await deps.sessionState.read(stateQuery(deps, state.claims, lenders));
  return session?.epochs.denials === state.session.epochs.denials ? { ...state, session } : "stale";
}

const stateQuery = (deps: HopDeps, { sessionId }: HopClaims, agents: readonly string[]): SessionStateQuery => ({
  sessionId,
  agents,
  nowMs: deps.clock.nowMs(),
});

async function pinnedPolicy(deps: HopDeps, { facts }: SessionState): Promise<PolicyIndex> {
  const policy = await deps.policies.pinned(facts.scope, facts.policyVersion);
  if (policy === undefined) throw new PolicyMissing("a session pins a policy that is not stored");
  return policy;
}
