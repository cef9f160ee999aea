import {
  reasonRequest,
  type sessionFilters,
  sessionPage,
  sessionRead,
  type sessionSummary,
  sessionsQuery,
  sessionsRevoke,
  sessionsRevoked,
} from "@svc/core";
import type { z } from "zod";
import { isUuid } from "../commands/identifier.ts";
import { revokeSession } from "../commands/session/revoke-session.ts";
import { endSessions } from "../commands/session/revoke-sessions.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import { openPage, toPage } from "../http/page.ts";
import type { SessionRead, SessionSummary, TaintMark } from "../ports/sessions.ts";
import type { Deps } from "./deps.ts";

const tag = "Sessions";
const sessions = "/v1/sessions";

export function sessionRoutes(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "get",
      path: sessions,
      access: "audit",
      tag,
      summary: "List sessions, newest first.",
      query: sessionsQuery,
      replies: { 200: { description: "One page.", schema: sessionPage } },
      errors: ["database_unavailable"],
    },
    async ({ c, query, rawQuery }) => {
      const asked = openPage(deps.cursorKey, sessions, rawQuery, query);
      const rows = await deps.sessions.page({
        filter: toSessionFilter(query),
        before: asked.after,
        limit: asked.limit + 1,
        nowMs: deps.clock.nowMs(),
      });
      return c.json(toPage(deps.cursorKey, asked, rows, toSummary, ({ facts }) => facts.sessionId));
    },
  );

  mount(
    app,
    deps,
    {
      method: "post",
      path: `${sessions}/revoke`,
      access: "admin",
      tag,
      summary: "End every running session that matches.",
      body: sessionsRevoke,
      replies: { 200: { description: "How many were ended.", schema: sessionsRevoked } },
      errors: ["database_unavailable"],
    },
    async ({ c, caller, body }) => {
      const filter = toSessionFilter(body);
      const revoked = await endSessions(deps, { filter, reason: body.reason ?? null, actor: caller.label });
      if (revoked > 0) deps.events.administered("session_revoked");
      return c.json({ revoked });
    },
  );

  mount(
    app,
    deps,
    {
      method: "get",
      path: `${sessions}/{session_id}`,
      access: "audit",
      tag,
      summary: "Read a session back, without its tokens.",
      replies: { 200: { description: "The session as it stands now.", schema: sessionRead } },
      errors: ["session_not_found", "database_unavailable"],
    },
    async ({ c, params: { session_id: sessionId } }) => {
      const found = isUuid(sessionId) ? await deps.sessions.read(sessionId, deps.clock.nowMs()) : undefined;
      return c.json(toRead(found));
    },
  );

  mount(
    app,
    deps,
    {
      method: "post",
      path: `${sessions}/{session_id}/revoke`,
      access: "admin",
      tag,
      summary: "End a session; one that has ended stays as it is.",
      body: reasonRequest,
      bodyOptional: true,
      replies: { 200: { description: "The session as it stands now.", schema: sessionRead } },
      errors: ["session_not_found", "database_unavailable"],
    },
    async ({ c, caller, params: { session_id: sessionId }, body }) => {
      const command = { sessionId, reason: body.reason ?? null, actor: caller.label };
      const revoked = isUuid(sessionId) ? await revokeSession(deps, command) : undefined;
      if (revoked?.ended) deps.events.administered("session_revoked", sessionId);
      return c.json(toRead(revoked?.session));
    },
  );
}

export const toSessionFilter = (
  asked: { readonly [Name in keyof typeof sessionFilters]?: z.output<(typeof sessionFilters)[Name]> },
) => ({
  userSub: asked.user_sub,
  scope: asked.scope,
  agent: asked.agent,
  status: asked.status,
});

const toSummary = ({ facts, status, revocation }: SessionSummary): z.input<typeof sessionSummary> => ({
  session_id: facts.sessionId,
  status,
  scope: facts.scope,
  user_sub: facts.userSub,
  policy_version: facts.policyVersion,
  hop_budget: facts.hopBudget,
  consented_by: facts.consentedBy,
  consented_at: new Date(facts.consentedAtMs).toISOString(),
  expires_at: new Date(facts.expiresAtMs).toISOString(),
  revoked_at: revocation && new Date(revocation.atMs).toISOString(),
  revoked_by: revocation?.by ?? null,
  revoked_reason: revocation?.reason ?? null,
});

/** @throws {ApiError} `session_not_found`. */
function toRead(session: SessionRead | undefined): z.input<typeof sessionRead> {
  if (session === undefined) throw new ApiError("session_not_found", "There is no such session.");
  return { ...toSummary(session), taint_marks: session.marks.map(toMark) };
}

const toMark = (mark: TaintMark): z.input<typeof sessionRead>["taint_marks"][number] => ({
  agent: mark.agent,
  taint: mark.taint,
  source: mark.source,
  action_id: mark.actionId,
  ts: new Date(mark.markedAtMs).toISOString(),
});
