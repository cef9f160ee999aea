import { html } from "hono/html";
import { count, type Markup, plural, time } from "./markup.ts";
import { table } from "./table.ts";
import type { OutcomeSeries } from "./tally.ts";

const step = 14;
const barWidth = 11;
const plotHeight = 96;
const layers = [
  ["allow", "allowed"],
  ["observe", "observed"],
  ["deny", "denied"],
] as const;

/** Outcomes over time as stacked bars, drawn without a script; the table below has the same figures. */
export function barChart(series: OutcomeSeries): Markup {
  const totals = { allowed: 0, observed: 0, denied: 0 };
  for (const row of series) for (const [, name] of layers) totals[name] += row[name];
  const most = Math.max(1, ...series.map(({ allowed, observed, denied }) => allowed + observed + denied));
  const words = `${count(totals.allowed)} allowed, ${count(totals.denied)} denied, ${count(totals.observed)} would block`;
  const width = series.length * step;
  return html`<figure class="bars">
<svg viewBox="0 0 ${width} ${plotHeight}" preserveAspectRatio="none" role="img" aria-label="Decisions over time: ${words}">
${series.map((row, at) => stack(row, at, most))}
</svg>
<figcaption><span>${series[0] && time(series[0].start * 1000)}</span> <span>${words}; at most ${plural(most, "decision")} a bar</span> <span>now</span></figcaption>
</figure>
${seriesTable(series)}`;
}

function stack(row: OutcomeSeries[number], at: number, most: number): Markup {
  let top = plotHeight;
  const parts = layers.flatMap(([tone, name]) => {
    if (row[name] === 0) return [];
    const height = Math.max(2, (plotHeight * row[name]) / most);
    top -= height;
    return [
      html`<rect class="${tone}" x="${at * step}" y="${top.toFixed(1)}" width="${barWidth}" height="${height.toFixed(1)}"/>`,
    ];
  });
  return html`<g>${parts}</g>`;
}

/** The figures of a drawing as a table. */
export function seriesTable(series: OutcomeSeries): Markup {
  const rows = series.filter(({ allowed, denied, observed }) => allowed + denied + observed > 0).reverse();
  return html`<details><summary>As a table</summary>${table({
    caption: "Newest first, without empty spans",
    columns: [
      { head: "From", cell: ({ start }) => time(start * 1000) },
      { head: "Allowed", cell: ({ allowed }) => count(allowed), isNumber: true },
      { head: "Denied", cell: ({ denied }) => count(denied), isNumber: true },
      { head: "Would block", cell: ({ observed }) => count(observed), isNumber: true },
      { head: "Under untrusted data", cell: ({ tainted }) => count(tainted), isNumber: true },
    ],
    rows,
    whenEmpty: "No decisions in this span.",
  })}</details>`;
}
