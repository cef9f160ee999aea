import { html } from "hono/html";
import { seriesTable } from "../bar-chart.ts";
import { reasonTable } from "../calls.ts";
import { failurePage } from "../failure-page.ts";
import { badge, bar, count, href, link, type Markup, notice, share, time } from "../markup.ts";
import { scopePath } from "../places.ts";
import type { Query } from "../ports.ts";
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

export const overviewPage: Page = {
  path: "/console",
  async render(ports, { query }) {
    const span = spanOf(query);
    if (span === undefined) return invalidSpan;
    const [tally, failing, blocks] = await Promise.all([
      readTally(ports, spans[span].ms),
      ports.reads.failingChecks(),
      ports.reads.blocks(shownBlocks),
    ]);
    const series = overTime(tally);
    return {
      title: "Overview",
      section: "Overview",
      plots: true,
      body: html`${readiness(failing)}
${spanChoice("/console", spans, span)}
${figures(tally)}
${tally.isCut && cutNotice(tally)}
<section><h2>Decisions over time</h2>
${plot("outcomes", series)}
${seriesTable(series)}</section>
<div class="columns">
<section><h2>Deny reasons</h2>${reasonTable(tally.counts)}</section>
<section><h2>Calls that enforcement would block</h2>${scopeTable(tally)}</section>
<section><h2>Decisions under untrusted data</h2>${plot("tainted", series)}</section>
<section><h2>Emergency blocks</h2>${blockTable(blocks)}</section>
</div>`,
    };
  },
};

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

function readiness(failing: readonly string[]): Markup {
  if (failing.length === 0) {
    return html`<p class="ready">${badge("allow", "ready")} Database and cache store respond.</p>`;
  }
  return notice(
    "deny",
    `Not ready: ${failing.map((name) => name.replace("_", " ")).join(", ")}`,
    html`${[...new Set(failing.map((name) => failureTexts.get(name) ?? noResponse))]}`,
  );
}

const noResponse = html`<p>Calls that need it are refused until it responds. See <a href="/readyz">/readyz</a> and the service's log.</p>`;

/** Of the checks that fail for another reason than a store without a response. */
const failureTexts: ReadonlyMap<string, Markup> = new Map([
  [
    "restore",
    html`<p>The database is older than one that was served before, so no call is allowed. Raise the issuer's epoch, as <a href="/readyz">/readyz</a> says.</p>`,
  ],
  [
    "seals",
    html`<p>The table of seals has rows that are not this service's. Calls are decided and recorded. <code>svc audit verify</code> names the rows: find out who wrote them, and let a database administrator remove them.</p>`,
  ],
  ["draining", html`<p>This process is ending: it completes its calls, and another process takes the next ones.</p>`],
]);

function figures({ counts, total }: Tally): Markup {
  const figure = (name: string, value: number, tone: string, to: string): Markup =>
    html`<div class="figure ${tone}"><dt>${link(to, name)}</dt><dd>${count(value)} <span class="quiet">${share(value, total)}</span></dd></div>`;
  return html`<dl class="figures">
<div class="figure"><dt>${link("/console/decisions", "Decisions")}</dt><dd>${count(total)}</dd></div>
${figure("Allowed", outcomesOf(counts, "allow"), "allow", href("/console/decisions", { outcome: "allow" }))}
${figure("Denied", outcomesOf(counts, "deny"), "deny", href("/console/decisions", { outcome: "deny", enforced: "true" }))}
${figure("Would block", outcomesOf(counts, "observe"), "observe", "/console/would-block")}
${figure("Under untrusted data", countOf(counts, isTainted), "neutral", href("/console/decisions", { taint: "untrusted_external" }))}
</dl>`;
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
