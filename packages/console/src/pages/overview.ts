import type { DecisionCount } from "@svc/core";
import { html } from "hono/html";
import { seriesTable } from "../bar-chart.ts";
import { byCaller, byTarget, reasonTable, usageColumns } from "../calls.ts";
import { change, readBefore } from "../change.ts";
import { failurePage } from "../failure-page.ts";
import { bar, count, facts, href, link, type Markup, notice, share, time } from "../markup.ts";
import { agentPath, scopePath, toolLink } from "../places.ts";
import type { ConsolePorts, Query } from "../ports.ts";
import { readiness, sealing, sessionsNow } from "../readiness.ts";
import { type Choice, spanChoice } from "../span-choice.ts";
import { table } from "../table.ts";
import {
  countOf,
  isTainted,
  type OutcomeSeries,
  outcomesOf,
  overTime,
  readTally,
  shareByScope,
  type Tally,
  tallied,
} from "../tally.ts";
import type { Page } from "../view.ts";
import { blockTable } from "./denials.ts";
import { peopleTable } from "./tool.ts";

const hourMs = 3_600_000;
const spans = {
  "1h": { name: "Last hour", ms: hourMs },
  "24h": { name: "Last 24 hours", ms: 24 * hourMs },
  "7d": { name: "Last 7 days", ms: 7 * 24 * hourMs },
  "30d": { name: "Last 30 days", ms: 30 * 24 * hourMs },
} as const satisfies Choice;
type Span = keyof typeof spans;
const spanNames = Object.keys(spans) as Span[];

const shownBlocks = 10;
const shownNames = 8;
/** Active sessions, rows that are not sealed, and decisions by name: fewer, so that all fit into the page's time. */
const counted = 10_000;

export const overviewPage: Page = {
  path: "/console",
  async render(ports, { query }) {
    const span = spanOf(query);
    if (span === undefined) return invalidSpan;
    const { ms } = spans[span];
    const [{ tally, before }, usage, service] = await Promise.all([
      readOutcomes(ports, ms),
      readUsage(ports, ms),
      readService(ports),
    ]);
    const series = overTime(tally);
    return {
      title: "Overview",
      section: "Overview",
      plots: true,
      body: html`${readiness(service.failing)}
${facts([
  ["Active sessions", sessionsNow(service.active, counted)],
  ["Sealing", sealing(service.seals, counted, ports.clock.nowMs())],
])}
${spanChoice("/console", spans, span)}
${figures(tally, before)}
${tally.isCut && cutNotice(tally)}
<section><h2>Decisions over time</h2>
${plot("outcomes", series)}
${seriesTable(series)}</section>
<div class="columns">
<section><h2>Deny reasons</h2>${reasonTable(tally.counts)}</section>
<section><h2>Calls that enforcement would block</h2>${scopeTable(tally)}</section>
<section><h2>Busiest agents</h2>${topTable("Agent", "caller", byCaller(usage.calls.filter(({ byPerson }) => !byPerson)))}</section>
<section><h2>Busiest tools</h2>${topTable("Tool", "target", byTarget(usage.calls.filter(({ targetKind }) => targetKind === "tool")))}</section>
<section><h2>People they act for most</h2>${peopleTable(usage.people)}</section>
<section><h2>Emergency blocks</h2>${blockTable(service.blocks)}</section>
<section><h2>Decisions under untrusted data</h2>${plot("tainted", series)}</section>
</div>
<p class="quiet">The busiest are those of the newest ${count(counted)} decisions of the span.</p>`,
    };
  },
};

async function readOutcomes(ports: ConsolePorts, spanMs: number) {
  const tally = await readTally(ports, spanMs);
  return { tally, before: await readBefore(ports, tally, spanMs) };
}

async function readUsage({ reads, clock }: ConsolePorts, spanMs: number) {
  const recent = { sinceMs: clock.nowMs() - spanMs, newest: counted };
  const [calls, people] = await Promise.all([
    reads.countCalls(recent),
    reads.countPeople({ ...recent, limit: shownNames }),
  ]);
  return { calls, people };
}

async function readService({ reads }: ConsolePorts) {
  const [failing, blocks, active, seals] = await Promise.all([
    reads.failingChecks(),
    reads.blocks(shownBlocks),
    reads.countActiveSessions(counted),
    reads.sealState(counted),
  ]);
  return { failing, blocks, active, seals };
}

function spanOf({ span = "24h", ...others }: Query): Span | undefined {
  return Object.keys(others).length === 0 ? spanNames.find((name) => name === span) : undefined;
}

const invalidSpan = failurePage({
  code: "invalid_request",
  status: 400,
  message: "The overview takes no such query.",
  details: { issues: [{ path: "span", message: `must be one of ${spanNames.join(", ")}, and the only parameter` }] },
});

const cutNotice = ({ sinceMs }: Tally): Markup =>
  notice(
    "neutral",
    `Only the newest ${count(tallied)} decisions are counted`,
    html`<p>This span has more: the figures begin at about ${time(sinceMs)}. The audit API and the metrics have exact figures of any span.</p>`,
  );

function figures({ counts, total }: Tally, before: readonly DecisionCount[] | undefined): Markup {
  const figure = (
    name: string,
    tone: string,
    to: string,
    read: (counts: readonly DecisionCount[]) => number,
  ): Markup => {
    const value = read(counts);
    return html`<div class="figure ${tone}"><dt>${link(to, name)}</dt><dd>${count(value)} <span class="quiet">${share(value, total)}</span></dd>
<dd class="change-line">${change(value, before && read(before))}</dd></div>`;
  };
  const outcome = (tone: "allow" | "deny" | "observe") => (of: readonly DecisionCount[]) => outcomesOf(of, tone);
  return html`<dl class="figures">
${figure("Decisions", "", "/console/decisions", (of) => countOf(of, () => true))}
${figure("Allowed", "allow", href("/console/decisions", { outcome: "allow" }), outcome("allow"))}
${figure("Denied", "deny", href("/console/decisions", { outcome: "deny", enforced: "true" }), outcome("deny"))}
${figure("Would block", "observe", "/console/would-block", outcome("observe"))}
${figure("Under untrusted data", "neutral", href("/console/decisions", { taint: "untrusted_external" }), (of) => countOf(of, isTainted))}
</dl>`;
}

function topTable(head: string, kind: "caller" | "target", all: ReturnType<typeof byCaller>): Markup {
  const rows = all.slice(0, shownNames);
  return table({
    caption: all.length > rows.length ? `The busiest ${rows.length} of ${count(all.length)}` : "Most calls first",
    columns: [
      {
        head,
        cell: ({ call }) =>
          kind === "caller" ? link(agentPath(call.actingAgent), call.actingAgent) : toolLink(call.target),
      },
      ...usageColumns(rows),
    ],
    rows,
    whenEmpty: "No calls in this span.",
  });
}

/** Drawn by the script; the table has the same figures. */
const plot = (kind: "outcomes" | "tainted", series: OutcomeSeries): Markup =>
  html`<div class="plot" data-plot="${kind}" data-series="${JSON.stringify(series)}"><noscript><p class="empty">Plots need JavaScript; the table has the same figures.</p></noscript></div>`;

const scopeTable = (tally: Tally): Markup =>
  table({
    caption: "By scope, largest share first",
    columns: [
      { head: "Scope", cell: ({ scope }) => link(scopePath(scope), scope) },
      { head: "Decisions", cell: ({ total }) => count(total), isNumber: true },
      {
        head: "Would block",
        cell: ({ scope, observed, total }) =>
          html`${bar(observed, total, "observe")}<span class="figure-of">${link(href("/console/would-block", { scope }), share(observed, total))}</span>`,
        isNumber: true,
      },
    ],
    rows: shareByScope(tally),
    whenEmpty: "No decisions in this span.",
  });
