import { type SessionFacts, type SessionRead, type SessionSummary, sessionStatuses } from "@svc/core";
import { html } from "hono/html";
import { notFoundPage } from "../failure-page.ts";
import { asOptions, type Field, filterForm } from "../form.ts";
import { facts, href, isolated, link, type Markup, plural, time } from "../markup.ts";
import { actionPath, agentPath, personPath, scopePath, sessionPath, shortId } from "../places.ts";
import { type Column, pageOf, table } from "../table.ts";
import type { Page } from "../view.ts";
import { sessionBadge } from "../words.ts";
import { decisionColumns } from "./decisions.ts";

const path = "/console/sessions";

const fields: readonly Field[] = [
  { name: "status", label: "Status", options: asOptions(sessionStatuses) },
  { name: "user_sub", label: "Person" },
  { name: "scope", label: "Scope" },
  { name: "agent", label: "Delegated to agent" },
];

const scopeLink = ({ scope, policyVersion }: SessionFacts): Markup => link(scopePath(scope, policyVersion), scope);

export const sessionColumns: readonly Column<SessionSummary>[] = [
  { head: "Consented", cell: ({ facts: session }) => time(session.consentedAtMs) },
  { head: "Status", cell: ({ status }) => sessionBadge(status) },
  { head: "Person", cell: ({ facts: { userSub } }) => link(personPath(userSub), userSub) },
  { head: "Scope", cell: ({ facts: session }) => scopeLink(session) },
  { head: "Policy", cell: ({ facts: session }) => session.policyVersion, isNumber: true },
  { head: "Ends", cell: ({ facts: session, revocation }) => time(revocation?.atMs ?? session.expiresAtMs) },
  { head: "Session", cell: ({ facts: session }) => shortId(sessionPath(session.sessionId), session.sessionId) },
];

export const sessionsPage: Page = {
  path,
  async render({ reads }, { query }) {
    const sessions = await reads.sessions(query);
    return {
      title: "Sessions",
      section: "Sessions",
      body: html`${filterForm(path, fields, query)}
${pageOf(path, query, sessions, {
  caption: "Consents, newest first",
  columns: sessionColumns,
  whenEmpty:
    Object.keys(query).length === 0
      ? "No consents yet. POST /v1/consent starts a session."
      : "No sessions match. Clear a filter.",
})}`,
    };
  },
};

export const sessionPage: Page = {
  path: `${path}/:session_id`,
  async render({ reads }, { params, offer }) {
    const session = await reads.session(params.session_id ?? "");
    if (session === undefined) return notFoundPage("session", path, "the sessions");
    const filter = { session_id: session.facts.sessionId };
    const decisions = await reads.decisions(filter);
    return {
      title: "One session",
      section: "Sessions",
      body: html`${sessionFacts(session)}
${offer(session.status === "active" && { act: "end_session", ref: session.facts.sessionId }, {
  act: "end_sessions",
  ref: session.facts.userSub,
})}
<section><h2>Taint</h2>${markTable(session)}</section>
<section><h2>Decisions</h2>
${table({
  caption: "Newest first",
  columns: decisionColumns,
  rows: decisions.rows,
  whenEmpty: "No decisions in this session yet.",
})}
${decisions.next && html`<p>${link(href("/console/decisions", filter), "All decisions of this session")}</p>`}
</section>`,
    };
  },
};

const sessionFacts = ({ facts: session, status, revocation }: SessionRead): Markup =>
  facts([
    ["Session", html`<code>${session.sessionId}</code>`],
    ["Status", sessionBadge(status)],
    ["Person", link(personPath(session.userSub), session.userSub)],
    ["Scope", html`${scopeLink(session)}, policy version ${session.policyVersion}`],
    ["Longest chain", plural(session.hopBudget, "hop")],
    ["Consented", html`${time(session.consentedAtMs)}, recorded by ${isolated(session.consentedBy)}`],
    ["Expires", time(session.expiresAtMs)],
    ["Revoked", revocation && html`${time(revocation.atMs)} by ${isolated(revocation.by)}`],
    ["Reason", revocation?.reason],
  ]);

const markTable = ({ marks }: SessionRead): Markup =>
  table({
    caption: "Who received untrusted data",
    columns: [
      { head: "Since", cell: ({ markedAtMs }) => time(markedAtMs) },
      {
        head: "Who",
        cell: ({ agent }) => (agent === null ? "the person, and so every chain" : link(agentPath(agent), agent)),
      },
      { head: "Source", cell: ({ source }) => html`<code>${source}</code>` },
      { head: "Counts for", cell: ({ enforced }) => (enforced ? "every decision" : "observed decisions") },
      { head: "Action", cell: ({ actionId }) => shortId(actionPath(actionId), actionId) },
    ],
    rows: marks,
    whenEmpty: "No untrusted data in this session.",
  });
