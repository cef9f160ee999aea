/** Grafana's own names for units. */
export type Unit = "short" | "reqps" | "percentunit" | "s" | "ops" | "none";

export interface Query {
  readonly expr: string;
  /** As in Grafana: `{{outcome}}` is replaced by the series' label. */
  readonly legend?: string;
}

interface PanelBase {
  readonly title: string;
  /** What it shows and what to make of it. */
  readonly description: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** Of the 24 columns. */
  readonly width?: number;
  /** Colours by the name of the series. */
  readonly colors?: Readonly<Record<string, string>>;
  /** Value from which the panel turns yellow or red. */
  readonly thresholds?: readonly (readonly [from: number, color: "yellow" | "red" | "green"])[];
}

export interface Panel extends PanelBase {
  readonly kind: "timeseries" | "stacked" | "stat" | "table";
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export const timeseries = (panel: PanelBase): Panel => ({ ...panel, kind: "timeseries" });
export const stacked = (panel: PanelBase): Panel => ({ ...panel, kind: "stacked" });
export const stat = (panel: PanelBase): Panel => ({ ...panel, kind: "stat" });
export const table = (panel: PanelBase): Panel => ({ ...panel, kind: "table" });

/** The same meaning has the same colour on every dashboard. */
export const outcomeColors = {
  allowed: "green",
  allow: "green",
  observed_would_block: "yellow",
  blocked: "red",
  deny: "red",
};

export const datasource = { type: "prometheus", uid: "$datasource" } as const;

export function toGrafanaPanel(panel: Panel, id: number, place: { x: number; y: number; w: number; h: number }) {
  return {
    id,
    type: panel.kind === "stacked" ? "timeseries" : panel.kind,
    title: panel.title,
    description: panel.description,
    datasource,
    gridPos: place,
    fieldConfig: { defaults: fieldDefaults(panel), overrides: colorOverrides(panel) },
    options: optionsOf(panel),
    targets: panel.queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      expr,
      ...(legend !== undefined && { legendFormat: legend }),
      ...(panel.kind === "table" && { format: "table", instant: true }),
    })),
    ...(panel.kind === "table" && { transformations: tableTransformations }),
  };
}

const tableTransformations = [
  { id: "organize", options: { excludeByName: { Time: true, __name__: true, job: true } } },
];

const fieldDefaults = ({ kind, unit, thresholds = [] }: Panel) => ({
  unit,
  ...(unit === "percentunit" && { min: 0, max: 1 }),
  ...(unit !== "percentunit" && { min: 0 }),
  color: { mode: kind === "stat" ? "thresholds" : "palette-classic" },
  thresholds: {
    mode: "absolute",
    steps: [{ color: "green", value: null }, ...thresholds.map(([value, color]) => ({ color, value }))],
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
