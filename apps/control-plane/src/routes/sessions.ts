import {
  consentRequest,
  consentResponse,
  reasonRequest,
  type SessionRead,
  type SessionSummary,
  sessionPage,
  sessionRead,
  sessionsQuery,
  sessionsRevoke,
  sessionsRevoked,
} from "@svc/core";
import { isUuid } from "../commands/identifier.ts";
import { endSessions, grantConsent, revokeSession } from "../commands/sessions.ts";
import { ApiError, requireKind } from "../http/api-error.ts";
import { type App, type ListRequest, routesOf } from "../http/routes.ts";
import { iso, withTimes } from "../http/times.ts";
import type { Deps } from "./deps.ts";

export function consentRoute(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Consent");
  route("POST /v1/consent", {
    access: "admin",
    summary: "Start a session by a person's consent; the answer holds its hop-1 token.",
    body: consentRequest,
    reply: { status: 201, description: "The session, pinned to one policy version.", schema: consentResponse },
    errors: [
      ...(["scope_not_found", "policy_recompile_required", "policy_version_changed"] as const),
      "no_agent_in_good_standing",
      ...(["database_unavailable", "guard_unavailable", "restore_unacknowledged"] as const),
    ],
    handle: async ({ caller, body }) => {
      const command = { ...body, consentedBy: caller.label };
      const { session, rootGrant } = requireKind(await grantConsent(deps, command), "granted", {
        scope_not_found: "This scope grants nothing: no agent's manifest declares it.",
        policy_recompile_required: "The scope's policy predates the present schema: submit one of its manifests again.",
        policy_version_changed: ({ currentVersion }) =>
          new ApiError("policy_version_changed", "The scope's policy is no longer the one that was shown.", {
            details: { current_version: currentVersion },
          }),
        no_agent_in_good_standing: ({ agents }) =>
          new ApiError(
            "no_agent_in_good_standing",
            "Every agent that a person may delegate to in this scope is revoked, quarantined or blocked: register another, enroll it, or lift the block.",
            { details: { agents: agents.map(({ agent, reason }) => ({ agent, deny_reason: reason })) } },
          ),
      });
      return { ...withTimes(session), rootGrant };
    },
  });
}

export function sessionRoutes(app: App, deps: Deps): void {
  const { route, list } = routesOf(app, deps, "Sessions");
  list("GET /v1/sessions", {
    ...sessionReads(deps),
    access: "audit",
    summary: "List sessions, newest first.",
    page: sessionPage,
    item: toSummary,
  });

  route("POST /v1/sessions/revoke", {
    access: "admin",
    summary: "End every running session that matches.",
    body: sessionsRevoke,
    reply: { description: "How many were ended.", schema: sessionsRevoked },
    errors: ["database_unavailable"],
    handle: async ({ caller, body: { reason = null, ...filter } }) => {
      const revoked = await endSessions(deps, filter, { reason, by: caller.label });
      if (revoked > 0) deps.events.administered("session_revoked");
      return { revoked };
    },
  });

  route("GET /v1/sessions/{session_id}", {
    access: "audit",
    summary: "Read a session back, without its tokens.",
    reply: { description: "The session at this moment.", schema: sessionRead },
    errors: ["session_not_found", "database_unavailable"],
    handle: async ({ params: { sessionId } }) =>
      toRead(isUuid(sessionId) ? await deps.sessions.read(sessionId, deps.clock.nowMs()) : undefined),
  });

  route("POST /v1/sessions/{session_id}/revoke", {
    access: "admin",
    summary: "End a session; one that has ended stays as it is.",
    body: reasonRequest,
    bodyOptional: true,
    reply: { description: "The session at this moment.", schema: sessionRead },
    errors: ["session_not_found", "database_unavailable"],
    handle: async ({ caller, params: { sessionId }, body: { reason = null } }) => {
      const revoked = await revokeSession(deps, sessionId, { reason, by: caller.label });
      if (revoked?.ended) deps.events.administered("session_revoked", sessionId);
      return toRead(revoked?.session);
    },
  });
}

export const sessionReads = ({ audit, clock }: Deps) => ({
  query: sessionsQuery,
  rows: ({ query: { userSub, scope, agent, status }, after, limit }: ListRequest<typeof sessionsQuery>) =>
    audit.sessions({ filter: { userSub, scope, agent, status }, after, limit, nowMs: clock.nowMs() }),
  position: ({ facts }: SessionSummary) => facts.sessionId,
});

const toSummary = ({ facts, status, revocation }: SessionSummary) => ({
  ...withTimes(facts),
  status,
  revokedAt: revocation && iso(revocation.atMs),
  revokedBy: revocation?.by ?? null,
  revokedReason: revocation?.reason ?? null,
});

/** @throws {ApiError} `session_not_found`. */
function toRead(session: SessionRead | undefined) {
  if (session === undefined) throw new ApiError("session_not_found", "There is no such session.");
  const taintMarks = session.marks.map(({ markedAtMs, ...mark }) => ({ ...mark, ts: iso(markedAtMs) }));
  return { ...toSummary(session), taintMarks };
}
