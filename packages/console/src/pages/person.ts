import type { CallCount } from "@svc/core";
import { html } from "hono/html";
import { byCaller, byTarget, reasonTable, type Usage, usageColumns } from "../calls.ts";
import { notFoundPage } from "../failure-page.ts";
import { age, count, href, link, type Markup, plural } from "../markup.ts";
import { caller, target } from "../places.ts";
import type { ConsolePorts } from "../ports.ts";
import { table } from "../table.ts";
import type { Page } from "../view.ts";
import { decisionColumns } from "./decisions.ts";
import { eventColumns, eventsPath } from "./events.ts";
import { sessionColumns } from "./sessions.ts";

const dayMs = 86_400_000;
const countedDays = 30;
const countedDecisions = 10_000;
/** The lists that the page links to have all. */
const shownRows = 10;

export const personPage: Page = {
  path: "/console/person",
  async render(ports, { query, offer }) {
    const { sub } = query;
    if (sub === undefined) return noSuchPerson;
    const { sessions, decisions, events, calls } = await readPerson(ports, sub);
    if (sessions.rows.length === 0 && events.rows.length === 0) {
      return noSuchPerson;
    }
    const filter = { user_sub: sub };
    const active = sessions.rows.filter(({ status }) => status === "active").length;
    const mayRun = active > 0 || sessions.next !== undefined;
    return {
      title: sub,
      section: "Sessions",
      body: html`<p class="lead">A person. ${plural(active, "active session")} among the newest ${count(sessions.rows.length)}.</p>
${offer(mayRun && { act: "end_sessions", ref: sub })}
<p>${link(href("/console/decisions", filter), "Decisions in their sessions")} · ${link(href("/console/sessions", filter), "Sessions")} · ${link(href(eventsPath, { actor: sub }), "Events by this person")}</p>
<section><h2>Sessions</h2>
${table({
  caption: "Consents, newest first",
  columns: sessionColumns.filter(({ head }) => head !== "Person"),
  rows: sessions.rows,
  whenEmpty: "No consent by this person yet.",
})}
${sessions.next && html`<p>${link(href("/console/sessions", filter), "All sessions of this person")}</p>`}</section>
<div class="columns">
<section><h2>Agents that acted for them</h2>${actors(calls)}</section>
<section><h2>Tools that were called for them</h2>${tools(calls)}</section>
<section><h2>Deny reasons</h2>${reasonTable(calls, filter, "No denied calls in their sessions.")}</section>
</div>
<p class="quiet">Counted in their newest sessions: decisions of the last ${countedDays} days, at most ${count(countedDecisions)}.</p>
<section><h2>Recent decisions</h2>
${table({
  caption: "Newest first",
  columns: decisionColumns,
  rows: decisions.rows,
  whenEmpty: "No decisions in their sessions yet.",
})}
${decisions.next && html`<p>${link(href("/console/decisions", filter), "All decisions in their sessions")}</p>`}</section>
<section><h2>Sign-ins and other events</h2>
${table({
  caption: "By this person, newest first",
  columns: eventColumns.filter(({ head }) => head !== "By"),
  rows: events.rows,
  whenEmpty: "This person never signed in here.",
})}
${events.next && html`<p>${link(href(eventsPath, { actor: sub }), "All events by this person")}</p>`}</section>`,
    };
  },
};

const noSuchPerson = notFoundPage("person", "/console/sessions", "the sessions");

async function readPerson({ reads, clock }: ConsolePorts, userSub: string) {
  const recent = { sinceMs: clock.nowMs() - countedDays * dayMs, newest: countedDecisions, of: { userSub } };
  const [sessions, decisions, events, calls] = await Promise.all([
    reads.sessions({ user_sub: userSub }, shownRows),
    reads.decisions({ user_sub: userSub }, shownRows),
    reads.events({ actor: userSub }, shownRows),
    reads.countCalls(recent),
  ]);
  return { sessions, decisions, events, calls };
}

const shownCounts = 15;

const lastColumn = { head: "Last", cell: ({ lastMs }: Usage) => age(lastMs) };

function actors(calls: readonly CallCount[]): Markup {
  const rows = byCaller(calls.filter(({ byPerson }) => !byPerson)).slice(0, shownCounts);
  return table({
    caption: "Most calls first",
    columns: [
      { head: "Agent", cell: ({ call }) => caller({ hop: 2, actingAgent: call.actingAgent }) },
      ...usageColumns(rows),
      lastColumn,
    ],
    rows,
    whenEmpty: "No agent acted for them yet.",
  });
}

function tools(calls: readonly CallCount[]): Markup {
  const rows = byTarget(calls.filter(({ targetKind }) => targetKind === "tool")).slice(0, shownCounts);
  return table({
    caption: "Most calls first",
    columns: [{ head: "Tool", cell: ({ call }) => target(call) }, ...usageColumns(rows), lastColumn],
    rows,
    whenEmpty: "No tool was called for them yet.",
  });
}
