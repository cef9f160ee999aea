import { agentName, page, scopeName, sentence, taints, userSub } from "@svc/core";
import { z } from "zod";
import { isUuid } from "../commands/identifier.ts";
import { revokeSession } from "../commands/session/revoke-session.ts";
import { endSessions } from "../commands/session/revoke-sessions.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import { openPage, pageQuery, toPage } from "../http/page.ts";
import { type SessionRead, type SessionSummary, sessionStatuses, type TaintMark } from "../ports/sessions.ts";
import type { Deps } from "./deps.ts";

const tag = "Sessions";
const sessions = "/v1/sessions";

const timestamp = z.iso.datetime();

const summary = {
  session_id: z.string(),
  status: z.enum(sessionStatuses),
  scope: z.string(),
  user_sub: z.string(),
  policy_version: z.int(),
  hop_budget: z.int(),
  consented_by: z.string(),
  consented_at: timestamp,
  expires_at: timestamp,
  revoked_at: timestamp.nullable(),
  revoked_by: z.string().nullable(),
  revoked_reason: z.string().nullable(),
};

const sessionSummary = z.object(summary).meta({ id: "SessionSummary" });

const taintMark = z
  .object({
    agent: z.string().nullable().meta({ description: "Null for the human." }),
    taint: z.enum(taints),
    source: z.string(),
    action_id: z.string(),
    ts: timestamp,
  })
  .meta({ id: "TaintMark" });

const sessionRead = z.object({ ...summary, taint_marks: z.array(taintMark) }).meta({ id: "SessionRead" });

const filters = {
  user_sub: userSub.optional(),
  scope: scopeName.optional(),
  agent: agentName.optional().meta({ description: "An agent that was delegated to in the session." }),
  status: z.enum(sessionStatuses).optional(),
};

/** The list's query, and the console's. */
export const sessionsQuery = z.strictObject({ ...pageQuery, ...filters });

const filterNames = Object.keys(filters) as (keyof typeof filters)[];

const sessionsRevoke = z
  .strictObject({ ...filters, reason: sentence.optional() })
  .refine((body) => filterNames.some((name) => body[name] !== undefined), "must have at least one filter")
  .meta({ id: "SessionsRevoke" });

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
      replies: { 200: { description: "One page.", schema: page(sessionSummary) } },
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
      replies: { 200: { description: "How many were ended.", schema: z.object({ revoked: z.int() }) } },
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
      body: z.strictObject({ reason: sentence.optional() }),
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
  asked: { readonly [Name in keyof typeof filters]?: z.output<(typeof filters)[Name]> },
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

const toMark = (mark: TaintMark): z.input<typeof taintMark> => ({
  agent: mark.agent,
  taint: mark.taint,
  source: mark.source,
  action_id: mark.actionId,
  ts: new Date(mark.markedAtMs).toISOString(),
});
