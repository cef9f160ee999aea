import { denyReasonTable } from "@svc/core";
import { html } from "hono/html";
import { z } from "zod";
import { failingProbes } from "../../commands/readiness.ts";
import { decodeQuery } from "../../http/query.ts";
import type { Deps } from "../../routes/deps.ts";
import { badge, bar, count, href, link, type Markup, notice, share, time } from "../markup.ts";
import { scopePath } from "../places.ts";
import { table } from "../table.ts";
import { byReason, type OutcomeSeries, overTime, readTally, shareByScope, type Tally, tallied } from "../tally.ts";
import type { Page, PageRequest, View } from "../view.ts";
import { blockTable } from "./denials.ts";

const hourMs = 3_600_000;
const spans = {
  "1h": { name: "Last hour", ms: hourMs },
  "24h": { name: "Last 24 hours", ms: 24 * hourMs },
  "7d": { name: "Last 7 days", ms: 7 * 24 * hourMs },
  "30d": { name: "Last 30 days", ms: 30 * 24 * hourMs },
} as const;
const spanNames = Object.keys(spans) as (keyof typeof spans)[];

const query = z.strictObject({ span: z.enum(spanNames).default("24h") });
const shownBlocks = 10;

export const overviewPage: Page = { path: "/console", render };

async function render(deps: Deps, { query: asked }: PageRequest): Promise<View> {
  const { span } = decodeQuery(asked, query);
  const [tally, failing, blocks] = await Promise.all([
    readTally(deps, spans[span].ms),
    failingProbes(deps.probes),
    deps.blocks.page({ nowMs: deps.clock.nowMs(), after: undefined, limit: shownBlocks }),
  ]);
  const series = overTime(tally);
  return {
    title: "Overview",
    section: "Overview",
    plots: true,
    body: html`${readiness(failing)}
${spanChoice(span)}
${figures(tally)}
${tally.isCut && cutNotice(tally)}
<section><h2>Decisions over time</h2>
${plot("outcomes", series)}
${seriesTable(series)}</section>
<div class="columns">
<section><h2>Why calls were denied</h2>${reasons(tally)}</section>
<section><h2>What enforcing would block</h2>${scopes(tally)}</section>
<section><h2>Under untrusted data</h2>${plot("tainted", series)}</section>
<section><h2>Emergency blocks</h2>${blockTable(blocks)}</section>
</div>`,
  };
}

const cutNotice = ({ sinceMs }: Tally): Markup =>
  notice(
    "neutral",
    `The newest ${count(tallied)} decisions`,
    html`<p>This span holds more: the figures begin at about ${time(sinceMs)}. For exact figures of any span, ask the audit API or the metrics.</p>`,
  );

function readiness(failing: readonly string[]): Markup {
  if (failing.length === 0)
    return html`<p class="ready">${badge("allow", "ready")} Database and cache store answered just now.</p>`;
  const names = failing.map((name) => name.replace("_", " ")).join(", ");
  return notice(
    "deny",
    `Not ready: ${names}`,
    failing.includes("restore")
      ? html`<p>The database is older than one that was served before, so nothing is granted. Raise the issuer's epoch, as <a href="/readyz">/readyz</a> says.</p>`
      : html`<p>Calls that need it are refused until it answers. Look at <a href="/readyz">/readyz</a> and the service's log.</p>`,
  );
}

const spanChoice = (current: keyof typeof spans): Markup =>
  html`<nav class="choice" aria-label="Span of time"><ul>${spanNames.map(
    (name) =>
      html`<li><a href="${href("/console", { span: name })}"${name === current && html` aria-current="true"`}>${spans[name].name}</a></li>`,
  )}</ul></nav>`;

function figures({ counts, total }: Tally): Markup {
  const of = (matches: (row: (typeof counts)[number]) => boolean): number =>
    counts.filter(matches).reduce((sum, row) => sum + row.count, 0);
  const allowed = of(({ decision }) => decision === "allow");
  const observed = of(({ decision, enforced }) => decision === "deny" && !enforced);
  const tainted = of(({ taint }) => taint === "untrusted_external");
  const figure = (name: string, value: number, tone: string, to: string): Markup =>
    html`<div class="figure ${tone}"><dt>${link(to, name)}</dt><dd>${count(value)} <span class="quiet">${share(value, total)}</span></dd></div>`;
  return html`<dl class="figures">
<div class="figure"><dt>${link("/console/decisions", "Decisions")}</dt><dd>${count(total)}</dd></div>
${figure("Allowed", allowed, "allow", href("/console/decisions", { outcome: "allow" }))}
${figure("Denied", total - allowed - observed, "deny", href("/console/decisions", { outcome: "deny", enforced: "true" }))}
${figure("Would block", observed, "observe", "/console/would-block")}
${figure("Under untrusted data", tainted, "neutral", href("/console/decisions", { taint: "untrusted_external" }))}
</dl>`;
}

/** Drawn by the script; without it, the table beneath says the same. */
const plot = (kind: "outcomes" | "tainted", series: OutcomeSeries): Markup =>
  html`<div class="plot" data-plot="${kind}" data-series="${JSON.stringify(series)}"><noscript><p class="empty">Plots need the page's script; the figures stand in the table.</p></noscript></div>`;

function seriesTable(series: OutcomeSeries): Markup {
  const rows = series.starts
    .map((start, at) => ({
      start,
      allowed: series.allowed[at] ?? 0,
      denied: series.denied[at] ?? 0,
      observed: series.observed[at] ?? 0,
      tainted: series.tainted[at] ?? 0,
    }))
    .filter(({ allowed, denied, observed }) => allowed + denied + observed > 0)
    .reverse();
  return html`<details><summary>As a table</summary>${table({
    caption: "Newest first, spans without decisions left out",
    columns: [
      { head: "From", cell: ({ start }) => time(start * 1000) },
      { head: "Allowed", cell: ({ allowed }) => count(allowed), isNumber: true },
      { head: "Denied", cell: ({ denied }) => count(denied), isNumber: true },
      { head: "Would block", cell: ({ observed }) => count(observed), isNumber: true },
      { head: "Under untrusted data", cell: ({ tainted }) => count(tainted), isNumber: true },
    ],
    rows,
    whenEmpty: "No call was decided in this span.",
  })}</details>`;
}

function reasons(tally: Tally): Markup {
  const rows = byReason(tally);
  const most = rows[0]?.count ?? 0;
  return table({
    caption: "Enforced or observed, most frequent first",
    columns: [
      {
        head: "Reason",
        cell: ({ reason }) =>
          html`<span title="${reason}">${link(href("/console/decisions", { deny_reason: reason }), denyReasonTable[reason].label)}</span>`,
      },
      {
        head: "Calls",
        cell: (row) => html`${bar(row.count, most, "deny")}<span class="figure-of">${count(row.count)}</span>`,
        isNumber: true,
      },
    ],
    rows,
    whenEmpty: "No call was denied in this span.",
  });
}

const scopes = (tally: Tally): Markup =>
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
    whenEmpty: "No call was decided in this span.",
  });
