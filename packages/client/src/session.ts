import { consentResponse, fromWire } from "@svc/core";
import { actChain, decodeUnverifiedHopToken } from "@svc/tokens";
import { type HopContext, hopContext } from "./hop-context.ts";

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
