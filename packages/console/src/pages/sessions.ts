import {
  type FamilySession,
  type SessionFacts,
  type SessionRead,
  type SessionSummary,
  type SessionTotals,
  sessionStatuses,
} from "@svc/core";
import { html } from "hono/html";
import { notFoundPage } from "../failure-page.ts";
import { asOptions, type Field, filtered, filterForm } from "../form.ts";
import { age, type Content, count, facts, href, isolated, link, type Markup, notice, plural, time } from "../markup.ts";
import { actionPath, agentPath, personPath, scopePath, sessionPath, shortId } from "../places.ts";
import { besideWords, seconds, sessionTree } from "../session-tree.ts";
import { type Column, pageOf, table } from "../table.ts";
import type { Page } from "../view.ts";
import { sessionBadge } from "../words.ts";

const path = "/console/sessions";

const fields: readonly Field[] = [
  { name: "status", label: "Status", options: asOptions(sessionStatuses) },
  { name: "user_sub", label: "Person" },
  { name: "scope", label: "Scope" },
  { name: "agent", label: "Delegated to agent" },
];

const scopeLink = ({ scope, policyVersion }: SessionFacts): Markup => link(scopePath(scope, policyVersion), scope);

export const sessionColumns: readonly Column<SessionSummary>[] = [
  { head: "Consented", cell: ({ facts: session }) => age(session.consentedAtMs) },
  { head: "Status", cell: ({ status }) => sessionBadge(status) },
  { head: "Person", cell: ({ facts: session }) => link(personPath(session.userSub), session.userSub) },
  { head: "Scope", cell: ({ facts: session }) => scopeLink(session) },
  { head: "Policy", cell: ({ facts: session }) => session.policyVersion, isNumber: true },
  { head: "Ends", cell: ({ facts: session, revocation }) => age(revocation?.atMs ?? session.expiresAtMs) },
  { head: "Session", cell: ({ facts: session }) => shortId(sessionPath(session.sessionId), session.sessionId) },
];

export const sessionsPage: Page = {
  path,
  async render({ reads }, { query }) {
    const shown = { title: "Sessions", section: "Sessions" } as const;
    const { rows: sessions, issues } = await filtered(() => reads.sessions(query));
    if (sessions === undefined) return { ...shown, status: 400, body: filterForm(path, fields, query, issues) };
    return {
      ...shown,
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
    const { sessionId } = session.facts;
    const [totals, family, calls] = await Promise.all([
      reads.sessionTotals(sessionId, countedDecisions),
      reads.sessionFamily(sessionId, shownFamily),
      reads.decisions({ session_id: sessionId, protocol: "false" }, shownCalls),
    ]);
    return {
      title: "One session",
      section: "Sessions",
      body: html`${sessionFacts(session)}
${offer(session.status === "active" && { act: "end_session", ref: session.facts.sessionId }, {
  act: "end_sessions",
  ref: session.facts.userSub,
})}
${figures(totals)}
<section><h2>Calls</h2>
${
  calls.nextCursor !== null &&
  notice(
    "neutral",
    `Only the newest ${count(shownCalls)} calls are shown`,
    html`<p>Calls whose caller is not among them begin a line of their own.</p>`,
  )
}
${sessionTree(
  session,
  calls.rows.map(({ record }) => record),
)}
<p>${link(href("/console/decisions", { session_id: sessionId, protocol: "all" }), "All decisions of this session")}, also the messages of MCP sessions.</p></section>
<section><h2>Taint</h2>${markTable(session)}</section>
${family.length > 0 && html`<section><h2>Sessions beside this one</h2>${familyTable(family)}</section>`}`,
    };
  },
};

const countedDecisions = 5_000;
const shownCalls = 200;
const shownFamily = 20;

function figures(totals: SessionTotals): Markup {
  const { decisions, denied, observed, tools, agents, spentTokens, longestChain, firstMs, lastMs } = totals;
  const isCut = decisions >= countedDecisions;
  const figure = (name: string, value: Content, tone = "neutral"): Markup =>
    html`<div class="figure ${tone}"><dt>${name}</dt><dd>${value}</dd></div>`;
  return html`<dl class="figures">
${figure("Decisions", html`${count(decisions)}${isCut && "+"}`)}
${figure("Denied", count(denied), "deny")}
${figure("Would block", count(observed), "observe")}
${figure("Agents", count(agents))}
${figure("Tools", count(tools))}
${figure("Spent tokens", count(spentTokens))}
${figure("Longest chain", plural(longestChain, "hop"))}
${firstMs !== null && lastMs !== null && figure("Duration", seconds(lastMs - firstMs))}
</dl>
${isCut && html`<p class="hint">Counted over the newest ${count(countedDecisions)} decisions of the session.</p>`}`;
}

const familyTable = (family: readonly FamilySession[]): Markup =>
  table({
    caption: "They serve the same agent: untrusted data of one is known in all of them",
    columns: [
      { head: "Consented", cell: ({ facts: session }) => age(session.consentedAtMs) },
      { head: "Status", cell: ({ status }) => sessionBadge(status) },
      { head: "Scope", cell: ({ facts: session }) => scopeLink(session) },
      { head: "Role", cell: ({ agent, holder }) => besideWords(agent, holder) },
      { head: "Session", cell: ({ facts: session }) => shortId(sessionPath(session.sessionId), session.sessionId) },
    ],
    rows: family,
    whenEmpty: "",
  });

const sessionFacts = ({ facts: session, status, revocation }: SessionRead): Markup =>
  facts([
    ["Session", html`<code>${session.sessionId}</code>`],
    ["Status", sessionBadge(status)],
    ["Person", link(personPath(session.userSub), session.userSub)],
    ["Scope", html`${scopeLink(session)}, policy version ${session.policyVersion}`],
    ["Hop budget", plural(session.hopBudget, "hop")],
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
