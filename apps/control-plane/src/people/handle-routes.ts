import { redeemRequest, redeemResponse, type SessionFacts, sessionBesideRequest, sessionsBeside } from "@svc/core";
import { callerOfToken } from "@svc/tokens";
import { isCurrentHop, requireVerified } from "../commands/hop/hop-tokens.ts";
import { ApiError, invalidRequest } from "../http/api-error.ts";
import { type App, routesOf } from "../http/routes.ts";
import { iso } from "../http/times.ts";
import type { ConsentDeps } from "./consent-deps.ts";
import { sha256 } from "./secrets.ts";

/** For enforcement points, which alone receive root grants of sessions that people consented to. */
export function handleRoutes(app: App, deps: ConsentDeps): void {
  const { route } = routesOf(app, deps, "Enforcement points");
  route("POST /v1/handles/redeem", {
    access: "enforcement",
    summary: "Turn the access token of an OAuth client into its session.",
    body: redeemRequest,
    reply: { description: "The session, and a root grant of its own.", schema: redeemResponse },
    errors: ["handle_not_found", "database_unavailable", "restore_unacknowledged"],
    handle: async ({ body: { handle, resource } }) => {
      deps.requireAcknowledged();
      const grant = await deps.consents.grantOfHandle(sha256(handle), deps.clock.nowMs());
      const granted = grant?.resource === resource ? await grantedSession(deps, grant.session, grant.agent) : undefined;
      if (grant === undefined || granted === undefined) {
        throw new ApiError(
          "handle_not_found",
          "This access token is not good here: unknown, expired, ended, or of another resource.",
        );
      }
      const { clientId, handleExpiresAtMs } = grant;
      return { ...granted, clientId, handleExpiresAt: iso(handleExpiresAtMs) };
    },
  });

  route("POST /v1/session/consents", {
    access: "enforcement",
    summary: "The running sessions that a person consented to beside a session, for its caller.",
    body: sessionBesideRequest,
    reply: { description: "Newest first.", schema: sessionsBeside },
    errors: ["database_unavailable", "restore_unacknowledged"],
    handle: async ({ body: { token } }) => {
      deps.requireAcknowledged();
      const subject = await deps.verifySubject(token);
      const claims = subject && requireVerified(subject).claims;
      if (claims === undefined || !isCurrentHop(claims)) {
        throw invalidRequest("The token is no current-hop token.", [
          { path: "token", message: "must be a current-hop token" },
        ]);
      }
      const query = { sessionId: claims.sessionId, holder: callerOfToken(claims), nowMs: deps.clock.nowMs() };
      const beside = await deps.consents.besideOf(query);
      const granted = await Promise.all(beside.map(({ session, agent }) => grantedSession(deps, session, agent)));
      return { data: granted.filter((each) => each !== undefined) };
    },
  });
}

/** With a fresh root grant; undefined where the pinned policy has no such entry agent. */
async function grantedSession(deps: ConsentDeps, session: SessionFacts, agent: string) {
  const { sessionId, scope, policyVersion, expiresAtMs } = session;
  const policy = await deps.policies.pinned(scope, policyVersion);
  const classes = policy?.agents.get(agent)?.reachableClasses;
  if (classes === undefined || classes.length === 0) return undefined;
  const dataClass = [...classes].sort().join(" ");
  const state = await deps.sessionState.read({ sessionId, agents: [agent], nowMs: deps.clock.nowMs() });
  if (state === undefined || state.revoked) return undefined;
  const rootGrant = await deps.signer.rootGrant(session, state.epochs.denials);
  return { sessionId, scope, agent, dataClass, rootGrant, expiresAt: iso(expiresAtMs) };
}
