import { sessionStatuses, sessionsQuery } from "@svc/core";
import { html } from "hono/html";
import { isUuid } from "../../commands/identifier.ts";
import { ApiError } from "../../http/api-error.ts";
import { openPage, toPage } from "../../http/page.ts";
import { decodeQuery } from "../../http/query.ts";
import type { SessionRead, SessionSummary } from "../../ports/sessions.ts";
import type { Deps } from "../../routes/deps.ts";
import { toSessionFilter } from "../../routes/sessions.ts";
import { asOptions, type Field, filterForm } from "../form.ts";
import { facts, href, link, type Markup, time } from "../markup.ts";
import { pager } from "../pager.ts";
import { actionPath, agentPath, scopePath, sessionPath, shortId } from "../places.ts";
import { type Column, table } from "../table.ts";
import type { Page, PageRequest, View } from "../view.ts";
import { sessionBadge } from "../words.ts";
import { decisionTable } from "./decisions.ts";

const path = "/console/sessions";

const fields: readonly Field[] = [
  { name: "status", label: "Status", options: asOptions(sessionStatuses) },
  { name: "user_sub", label: "Human" },
  { name: "scope", label: "Scope" },
  { name: "agent", label: "Agent delegated to" },
];

const columns: readonly Column<SessionSummary>[] = [
  { head: "Consented", cell: ({ facts: session }) => time(session.consentedAtMs) },
  { head: "Status", cell: ({ status }) => sessionBadge(status) },
  { head: "Human", cell: ({ facts: session }) => session.userSub },
  { head: "Scope", cell: ({ facts: session }) => link(scopePath(session.scope, session.policyVersion), session.scope) },
  { head: "Policy", cell: ({ facts: session }) => session.policyVersion, isNumber: true },
  { head: "Ends", cell: ({ facts: session, revocation }) => time(revocation?.atMs ?? session.expiresAtMs) },
  { head: "Session", cell: ({ facts: session }) => shortId(sessionPath(session.sessionId), session.sessionId) },
];

export const sessionsPage: Page = {
  path,
  async render(deps, { query }) {
    const decoded = decodeQuery(query, sessionsQuery);
    const request = openPage(deps.cursorKey, path, query, decoded);
    const rows = await deps.sessions.page({
      filter: toSessionFilter(decoded),
      before: request.after,
      limit: request.limit + 1,
      nowMs: deps.clock.nowMs(),
    });
    const page = toPage(
      deps.cursorKey,
      request,
      rows,
      (row) => row,
      ({ facts: session }) => session.sessionId,
    );
    return {
      title: "Sessions",
      section: "Sessions",
      body: html`${filterForm(path, fields, query)}
${table({
  caption: "Consents, newest first",
  columns,
  rows: page.data,
  whenEmpty:
    Object.keys(query).length === 0
      ? "Nobody consented yet. A session begins with POST /v1/consent."
      : "No session is like this. Clear a filter.",
})}
${pager(path, query, page.page.next_cursor)}`,
    };
  },
};

const shownDecisions = 50;

export const sessionPage: Page = { path: `${path}/:session_id`, render: renderSession };

async function renderSession(deps: Deps, { params }: PageRequest): Promise<View> {
  const sessionId = params.session_id;
  const session = isUuid(sessionId) ? await deps.sessions.read(sessionId, deps.clock.nowMs()) : undefined;
  if (session === undefined) throw new ApiError("session_not_found", "There is no such session.");
  const filter = { sessionId: session.facts.sessionId };
  const decisions = await deps.decisions.page({ filter, beforeSeq: undefined, limit: shownDecisions });
  return {
    title: "One session",
    section: "Sessions",
    body: html`${sessionFacts(session)}
<section><h2>Taint</h2>${marks(session)}</section>
<section><h2>What was asked for</h2>
${decisionTable("The newest decisions of this session", decisions, "No agent asked for anything in this session yet.")}
${decisions.length === shownDecisions && html`<p>${link(href("/console/decisions", { session_id: filter.sessionId }), "All decisions of this session")}</p>`}
</section>`,
  };
}

const sessionFacts = ({ facts: session, status, revocation }: SessionRead): Markup =>
  facts([
    ["Session", html`<code>${session.sessionId}</code>`],
    ["Status", sessionBadge(status)],
    ["Human", session.userSub],
    [
      "Scope",
      html`${link(scopePath(session.scope, session.policyVersion), session.scope)}, policy version ${session.policyVersion}`,
    ],
    ["Longest chain", `${session.hopBudget} hops`],
    ["Consented", html`${time(session.consentedAtMs)}, through ${session.consentedBy}`],
    ["Ends", time(session.expiresAtMs)],
    ["Ended early", revocation && html`${time(revocation.atMs)} by ${revocation.by}`],
    ["Reason", revocation?.reason],
  ]);

const marks = ({ marks: set }: SessionRead): Markup =>
  table({
    caption: "Who touched untrusted data, or was handed it",
    columns: [
      { head: "Since", cell: ({ markedAtMs }) => time(markedAtMs) },
      {
        head: "Who",
        cell: ({ agent }) => (agent === null ? "the human, and so every chain" : link(agentPath(agent), agent)),
      },
      { head: "From", cell: ({ source }) => html`<code>${source}</code>` },
      { head: "Action", cell: ({ actionId }) => shortId(actionPath(actionId), actionId) },
    ],
    rows: set,
    whenEmpty: "No member of this session touched untrusted data.",
  });
