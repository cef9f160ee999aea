import { consentResponse } from "@svc/core";
import { type HopContext, hopContext } from "./hop-context.ts";

/** A consented session (specification: Client value objects). */
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
  /** Where the human stands: hop 1. */
  context(): HopContext;
}

/** A session's answer whose token is no hop token of it is no answer. */
export const sessionOf = consentResponse.transform((body, issues): Session => {
  const sessionId = body.session_id;
  const root = rootContext(sessionId, body.root_grant);
  if (!root) issues.addIssue({ code: "custom", message: "root_grant is no hop-1 token" });
  return Object.freeze({
    sessionId,
    rootGrant: body.root_grant,
    policyVersion: body.policy_version,
    scope: body.scope,
    userSub: body.user_sub,
    hopBudget: body.hop_budget,
    expiresAt: body.expires_at,
    context: () => hopContext(sessionId, body.root_grant),
  });
});

function rootContext(sessionId: string, token: string): HopContext | undefined {
  try {
    const context = hopContext(sessionId, token);
    return context.hop === 1 ? context : undefined;
  } catch {
    return undefined;
  }
}
