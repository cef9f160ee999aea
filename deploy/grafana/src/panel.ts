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

export function toGrafanaPanel(panel: Panel, id: number, gridPos: { x: number; y: number; w: number; h: number }) {
  const { kind, title, description, queries } = panel;
  const targets = typeof queries === "string" ? [[undefined, queries] as const] : Object.entries(queries);
  return {
    id,
    type: kind === "stacked" ? "timeseries" : kind,
    title,
    description,
    datasource,
    gridPos,
    fieldConfig: { defaults: fieldDefaults(panel), overrides: colorOverrides(panel) },
    options: optionsOf(panel),
    targets: targets.map(([legend, expr], index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      expr,
      ...(legend !== undefined && { legendFormat: legend }),
      ...(kind === "table" && { format: "table", instant: true }),
    })),
    ...(kind === "table" && { transformations: tableTransformations }),
  };
}

const tableTransformations = [
  { id: "organize", options: { excludeByName: { Time: true, __name__: true, job: true } } },
];

const fieldDefaults = ({ kind, unit = "none", yellow, red }: Panel) => ({
  unit,
  min: 0,
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
  custom:
    kind === "stacked"
      ? { fillOpacity: 40, lineWidth: 1, stacking: { mode: "normal", group: "A" } }
      : kind === "timeseries"
        ? { fillOpacity: 8, lineWidth: 2 }
        : {},
});

const colorOverrides = ({ colors = {} }: Panel) =>
  Object.entries(colors).map(([name, fixedColor]) => ({
    matcher: { id: "byName", options: name },
    properties: [{ id: "color", value: { mode: "fixed", fixedColor } }],
  }));

function optionsOf({ kind }: Panel) {
  if (kind === "stat") return { colorMode: "value", graphMode: "area", reduceOptions: { calcs: ["lastNotNull"] } };
  if (kind === "table") return { showHeader: true };
  return {
    legend: { displayMode: "list", placement: "bottom", showLegend: true },
    tooltip: { mode: "multi", sort: "desc" },
  };
}
