import { consentResponse, fromWire } from "@svc/core";
import type { HopCredential } from "@svc/hop";
import { actChain, callerOfToken, decodeUnverifiedHopToken } from "@svc/tokens";

/**
 * An agent's place in a delegation (docs/reference/client.md#value-objects). Its own members, and so its JSON, are
 * session and token: all that another process needs. The others are read from the token.
 */
export interface HopContext extends HopCredential {
  /** [human, first delegate, ..., current actor], read from the token's `act` claim. */
  readonly actChain: readonly string[];
  /** Length of `actChain`. */
  readonly hop: number;
  /** The acting agent or human: the token's `aud` where it was delegated, else its `sub`. */
  readonly caller: string;
  /** `Authorization` and `X-Svc-Session`, for a call through an enforcement point. */
  headers(): { Authorization: string; "X-Svc-Session": string };
  /** The next recipient's context: the same session with a newly narrowed token. */
  advanced(token: string): HopContext;
}

/** Reads the token unverified. @throws {TypeError} where it is no hop token; the message does not contain it */
export function hopContext(sessionId: string, token: string): HopContext {
  const claims = decodeUnverifiedHopToken(token);
  if (!claims) throw new TypeError("not a hop token");
  const chain = actChain(claims);
  const derived: Omit<HopContext, keyof HopCredential> = {
    actChain: chain,
    hop: chain.length,
    caller: callerOfToken(claims),
    headers: () => ({ Authorization: `Bearer ${token}`, "X-Svc-Session": sessionId }),
    advanced: (narrowed) => hopContext(sessionId, narrowed),
  };
  return Object.freeze(Object.assign(Object.create(derived) as typeof derived, { sessionId, token }));
}

/** A consented session (docs/reference/client.md#value-objects). */
export interface Session {
  readonly sessionId: string;
  /** The hop-1 token. */
  readonly rootGrant: string;
  /** The policy version that the session pinned. */
  readonly policyVersion: number;
  readonly scope: string;
  readonly userSub: string;
  /** The longest chain, in hops from the human. */
  readonly hopBudget: number;
  /** ISO 8601, UTC. */
  readonly expiresAt: string;
  /** The human's context: hop 1. */
  context(): HopContext;
}

/** Fails where the root grant is no hop-1 token. */
export const sessionOf = consentResponse.transform((body, issues): Session => {
  const facts = fromWire(consentResponse, body);
  const claims = decodeUnverifiedHopToken(facts.rootGrant);
  if (claims === undefined || actChain(claims).length !== 1) {
    issues.addIssue({ code: "custom", message: "root_grant is no hop-1 token" });
  }
  return Object.freeze({ ...facts, context: () => hopContext(facts.sessionId, facts.rootGrant) });
});
