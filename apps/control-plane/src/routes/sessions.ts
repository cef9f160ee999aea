import { reasonRequest, sessionPage, sessionRead, sessionsQuery, sessionsRevoke, sessionsRevoked } from "@svc/core";
import { isUuid } from "../commands/identifier.ts";
import { revokeSession } from "../commands/session/revoke-session.ts";
import { endSessions } from "../commands/session/revoke-sessions.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { type ListRequest, routesOf } from "../http/routes.ts";
import { iso, withTimes } from "../http/times.ts";
import type { SessionRead, SessionSummary } from "../ports/sessions.ts";
import type { Deps } from "./deps.ts";

export function sessionRoutes(app: App, deps: Deps): void {
  const { route, list } = routesOf(app, deps, "Sessions");
  list("GET /v1/sessions", {
    access: "audit",
    summary: "List sessions, newest first.",
    query: sessionsQuery,
    page: sessionPage,
    rows: (request) => readSessions(deps, request),
    item: toSummary,
    position: ({ facts }) => facts.sessionId,
  });

  route("POST /v1/sessions/revoke", {
    access: "admin",
    summary: "End every running session that matches.",
    body: sessionsRevoke,
    reply: { description: "How many were ended.", schema: sessionsRevoked },
    errors: ["database_unavailable"],
    handle: async ({ caller, body: { reason = null, ...filter } }) => {
      const revoked = await endSessions(deps, { filter, reason, actor: caller.label });
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
      const command = { sessionId, reason, actor: caller.label };
      const revoked = isUuid(sessionId) ? await revokeSession(deps, command) : undefined;
      if (revoked?.ended) deps.events.administered("session_revoked", sessionId);
      return toRead(revoked?.session);
    },
  });
}

export const readSessions = (
  { sessions, clock }: Pick<Deps, "sessions" | "clock">,
  { query: { userSub, scope, agent, status }, after: before, limit }: ListRequest<typeof sessionsQuery>,
): Promise<readonly SessionSummary[]> =>
  sessions.page({ filter: { userSub, scope, agent, status }, before, limit, nowMs: clock.nowMs() });

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
