import { consentResponse, fromWire, type Taint } from "@svc/core";
import type { HopCredential, HopTaken } from "@svc/hop";
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

/** The result of one hop: its narrowed token and its companions (docs/reference/client.md#value-objects). */
export interface Grant {
  /** The narrowed token: for this target and this data class alone. */
  readonly accessToken: string;
  /** The data class it was narrowed to; for an agent several, space-separated. */
  readonly scope: string;
  /** Seconds from its issue. */
  readonly expiresIn: number;
  /** The `hop` claim of the access token: one more than its subject token's. */
  readonly hop: number;
  readonly target: string;
  /** Only for a privileged target; bound to exactly the params that were passed. */
  readonly transactionToken?: string;
  /** Only where the client holds an agent key. */
  readonly identityAssertion?: string;
  /** The effective taint of the decision. */
  readonly taint: Taint;
  /** The recorded decision. */
  readonly actionId: string;
  /** For the call: `Authorization`, `X-Svc-Session`, and `Txn-Token` and `Agent-Identity` when present. */
  headers(): Readonly<Record<string, string>>;
}

/** @param sessionId a verifier admits no call without it (docs/reference/routes.md#planes-and-bearers) */
export function toGrant(sessionId: string, { kind, decision, token, ...companions }: HopTaken): Grant {
  const { accessToken, claims, expiresInSeconds: expiresIn } = token;
  const { scope, hop, aud: target, taint } = claims;
  const { transactionToken, identityAssertion } = companions;
  return Object.freeze({
    ...{ accessToken, scope, expiresIn, hop, target, taint, actionId: decision.actionId, ...companions },
    headers: () => ({
      Authorization: `Bearer ${accessToken}`,
      "X-Svc-Session": sessionId,
      ...(transactionToken !== undefined && { "Txn-Token": transactionToken }),
      ...(identityAssertion !== undefined && { "Agent-Identity": identityAssertion }),
    }),
  });
}
