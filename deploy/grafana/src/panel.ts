/** Grafana's own names for units. */
export type Unit = "short" | "reqps" | "percentunit" | "s" | "ops" | "none";

interface PanelOptions {
  /** `none` by default. */
  readonly unit?: Unit;
  /** Colors by the name of the series. */
  readonly colors?: Readonly<Record<string, string>>;
  /** The values from which the panel turns yellow or red. */
  readonly yellow?: number;
  readonly red?: number;
  /** The console's page that lists what is counted here, and its query; `{{reason}}` is a label of the series. */
  readonly console?: string;
}

export interface Panel extends PanelOptions {
  readonly kind: "timeseries" | "stacked" | "stat" | "table";
  readonly title: string;
  /** What it shows and how to read it. */
  readonly description: string;
  /** A query, or queries by legend; in a legend Grafana replaces `{{outcome}}` by the series' label. */
  readonly queries: string | Readonly<Record<string, string>>;
}

const panelOf =
  (kind: Panel["kind"]) =>
  (title: string, description: string, form: Unit | PanelOptions, queries: Panel["queries"]): Panel => ({
    kind,
    title,
    description,
    queries,
    ...(typeof form === "string" ? { unit: form } : form),
  });

export const timeseries = panelOf("timeseries");
export const stacked = panelOf("stacked");
export const stat = panelOf("stat");
export const table = panelOf("table");

/** One color for one meaning, on every dashboard. */
export const outcomeColors = {
  allowed: "green",
  allow: "green",
  observed_would_block: "yellow",
  blocked: "red",
  deny: "red",
};

export const datasource = { type: "prometheus", uid: "$datasource" } as const;

export interface GridPos {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export function toGrafanaPanel(panel: Panel, id: number, gridPos: GridPos) {
  const { kind, title, description } = panel;
  return {
    id,
    type: kind === "stacked" ? "timeseries" : kind,
    title,
    description: `${description}${recordedIn(panel)}`,
    datasource,
    gridPos,
    fieldConfig: { defaults: fieldDefaults(panel), overrides: colorOverrides(panel) },
    options: optionsOf(panel),
    targets: targetsOf(panel),
    ...(kind === "table" && { transformations: tableTransformations }),
  };
}

const queriesOf = ({ queries }: Panel): readonly (readonly [legend: string | undefined, expr: string])[] =>
  typeof queries === "string" ? [[undefined, queries]] : Object.entries(queries);

const targetsOf = (panel: Panel) =>
  queriesOf(panel).map(([legend, expr], index) => ({
    refId: String.fromCharCode(65 + index),
    datasource,
    expr: panel.kind === "table" || legend?.includes("{{") ? expr : orZero(expr),
    ...(legend !== undefined && { legendFormat: legend }),
    ...(panel.kind === "table" && { format: "table", instant: true }),
  }));

/** A single figure is 0 where there is nothing, not "No data". */
const orZero = (expr: string): string => `${expr} or vector(0)`;

/** Names the recording rules, without which a panel is empty. */
function recordedIn(panel: Panel): string {
  const names = new Set(queriesOf(panel).flatMap(([, expr]) => expr.match(/svc:\w+:\w+/g) ?? []));
  return names.size === 0 ? "" : ` Recorded as ${[...names].join(", ")}.`;
}

const tableTransformations = [
  { id: "organize", options: { excludeByName: { Time: true, __name__: true, job: true } } },
];

const fieldDefaults = ({ kind, unit = "none", yellow, red, console }: Panel) => ({
  unit,
  min: 0,
  noValue: "0",
  ...(unit === "percentunit" && { max: 1 }),
  color: { mode: kind === "stat" ? "thresholds" : "palette-classic" },
  thresholds: {
    mode: "absolute",
    steps: [
      { color: "green", value: null },
      ...(yellow === undefined ? [] : [{ color: "yellow", value: yellow }]),
      ...(red === undefined ? [] : [{ color: "red", value: red }]),
    ],
  },
  links:
    console === undefined ? [] : [{ title: "Show them in the console", url: consoleUrl(console), targetBlank: true }],
  custom:
    kind === "stacked"
      ? { fillOpacity: 40, lineWidth: 1, stacking: { mode: "normal", group: "A" } }
      : kind === "timeseries"
        ? { fillOpacity: 8, lineWidth: 2 }
        : {},
});

/** With the dashboard's span. */
function consoleUrl(page: string): string {
  const path = page.replaceAll(/\{\{(\w+)\}\}/g, "$${__field.labels.$1}");
  return `\${console:raw}${path}${path.includes("?") ? "&" : "?"}since=\${__from:date:iso}&until=\${__to:date:iso}`;
}

const colorOverrides = ({ colors = {} }: Panel) =>
  Object.entries(colors).map(([name, fixedColor]) => ({
    matcher: { id: "byName", options: name },
    properties: [{ id: "color", value: { mode: "fixed", fixedColor } }],
  }));

function optionsOf({ kind }: Panel) {
  if (kind === "stat") return { colorMode: "value", graphMode: "area", reduceOptions: { calcs: ["lastNotNull"] } };
  if (kind === "table") return { showHeader: true };
  return {
    legend: { displayMode: "table", placement: "bottom", showLegend: true, calcs: ["lastNotNull", "max"] },
    tooltip: { mode: "multi", sort: "desc" },
  };
}
