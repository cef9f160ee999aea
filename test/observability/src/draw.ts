import { html, raw } from "hono/html";
import type { GrafanaDashboard, GrafanaPanel } from "./grafana-model.ts";
import type { Line } from "./prometheus.ts";

/** A panel's series by their legends. */
export interface DrawnLine extends Pick<Line, "points"> {
  readonly legend: string;
}

/** The dashboard as a page: its panels in their places, each with its data. In place of Grafana, which cannot be had. */
export const drawDashboard = (
  { title, panels }: GrafanaDashboard,
  linesOf: (panel: GrafanaPanel) => readonly DrawnLine[],
) => html`<!doctype html><meta charset="utf-8"><title>${title}</title><style>${raw(style)}</style>
<h1>${title}</h1><main>${panels.map((panel) => drawPanel(panel, linesOf(panel)))}</main>`;

const style = `body{font:13px system-ui;background:#f4f5f5;color:#222;margin:12px}h1{font-size:18px}
main{display:grid;grid-template-columns:repeat(24,1fr);grid-auto-rows:30px;gap:4px}
section{background:#fff;border:1px solid #ddd;padding:4px 8px;overflow:hidden;display:flex;flex-direction:column;min-width:0}
section.row{background:none;border:0}h2{font-size:12px;margin:0}.figure{font-size:26px;margin:auto}
svg{flex:1;min-height:0;width:100%}td,th{padding:0 10px 0 0;font-size:11px;text-align:left}pre{white-space:pre-wrap;font-size:10px;margin:0}`;

function drawPanel(panel: GrafanaPanel, lines: readonly DrawnLine[]) {
  const { x, y, w, h } = panel.gridPos;
  const place = `grid-column:${x + 1}/span ${w};grid-row:${y + 1}/span ${h}`;
  return html`<section id="panel-${panel.id}" class="${panel.type}" style="${place}"><h2>${panel.title}</h2>${bodyOf(panel, lines)}</section>`;
}

function bodyOf(panel: GrafanaPanel, lines: readonly DrawnLine[]) {
  if (panel.type === "row") return "";
  if (panel.type === "text") return html`<pre>${panel.options?.content}</pre>`;
  if (lines.length === 0) return html`<p class="figure empty">${panel.fieldConfig?.defaults.noValue}</p>`;
  if (panel.type === "stat") return figure(panel, lines[0] as DrawnLine);
  if (panel.type === "table") return legendTable(panel, lines, "");
  return html`${plot(panel, lines)}${legendTable(panel, lines, "max")}`;
}

const last = ({ points }: DrawnLine): number => points.at(-1)?.[1] ?? 0;
const highest = ({ points }: DrawnLine): number => Math.max(0, ...points.map(([, value]) => value));

function figure(panel: GrafanaPanel, line: DrawnLine) {
  const steps = panel.fieldConfig?.defaults.thresholds.steps ?? [];
  const color = steps.findLast(({ value }) => value === null || value <= last(line))?.color ?? "green";
  return html`<p class="figure" style="color:${color === "yellow" ? "#b58900" : color}">${format(panel, last(line))}</p>`;
}

const palette = ["#56a64b", "#e0b400", "#3274d9", "#e02f44", "#8f3bb8", "#ff780a", "#37872d", "#1f60c4", "#806eb7"];
const named: Readonly<Record<string, string>> = {
  green: "#37872d",
  yellow: "#e0b400",
  red: "#e02f44",
  orange: "#ff780a",
};

function colorOf(panel: GrafanaPanel, { legend }: DrawnLine, index: number): string {
  const fixed = panel.fieldConfig?.overrides.find(({ matcher }) => matcher.options === legend);
  return named[fixed?.properties[0]?.value.fixedColor ?? ""] ?? (palette[index % palette.length] as string);
}

const width = 400;
const height = 100;

function plot(panel: GrafanaPanel, lines: readonly DrawnLine[]) {
  const isStacked = panel.fieldConfig?.defaults.custom.stacking !== undefined;
  const heights = isStacked ? stackUp(lines) : lines.map(({ points }) => points);
  const all = heights.flat();
  const [from, to] = [Math.min(...all.map(([at]) => at)), Math.max(...all.map(([at]) => at))];
  const top = Math.max(...all.map(([, value]) => value)) || 1;
  const at = ([second, value]: readonly [number, number]): string =>
    `${(((second - from) / (to - from || 1)) * width).toFixed(1)},${(height - (value / top) * (height - 4)).toFixed(1)}`;
  // The last line first: what is stacked above lies behind.
  const paths = heights.map((points, index) => {
    const color = colorOf(panel, lines[index] as DrawnLine, index);
    const edge = points.map(at).join(" ");
    return isStacked
      ? html`<polygon points="${at([points[0]?.[0] ?? from, 0])} ${edge} ${at([points.at(-1)?.[0] ?? to, 0])}" fill="${color}"/>`
      : html`<polyline points="${edge}" fill="none" stroke="${color}" stroke-width="1.5" vector-effect="non-scaling-stroke"/>`;
  });
  return html`<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none">${paths.toReversed()}</svg>`;
}

/** Each line's values on top of those before it, second by second. */
function stackUp(lines: readonly DrawnLine[]): readonly DrawnLine["points"][] {
  const sums = new Map<number, number>();
  return lines.map(({ points }) =>
    points.map(([at, value]) => {
      const second = Math.round(at);
      sums.set(second, (sums.get(second) ?? 0) + value);
      return [at, sums.get(second) as number] as const;
    }),
  );
}

const legendTable = (panel: GrafanaPanel, lines: readonly DrawnLine[], max: string) =>
  html`<table><tr><th></th><th>last</th><th>${max}</th></tr>${lines.map(
    (line, index) =>
      html`<tr><td style="color:${colorOf(panel, line, index)}">${line.legend}</td><td>${format(panel, last(line))}</td><td>${max && format(panel, highest(line))}</td></tr>`,
  )}</table>`;

const units: Readonly<Record<string, (value: number) => string>> = {
  percentunit: (value) => `${round(value * 100)}%`,
  s: (value) => (value < 1 ? `${round(value * 1000)} ms` : `${round(value)} s`),
  ops: (value) => `${round(value)} ops/s`,
  reqps: (value) => `${round(value)} req/s`,
};
const round = (value: number): string => String(Number(value.toPrecision(3)));
const format = (panel: GrafanaPanel, value: number): string =>
  (units[panel.fieldConfig?.defaults.unit ?? ""] ?? round)(value);
