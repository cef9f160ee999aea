import { datasource, type Panel, type Row, toGrafanaPanel } from "./panel.ts";

export interface Dashboard {
  /** Also its file name and its path in Grafana. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly rows: readonly Row[];
}

const columns = 24;
const heights = { stat: 4, table: 8, timeseries: 8, stacked: 8 };

/** The dashboard in Grafana's JSON model (schema 39: Grafana 10 and later). */
export const toGrafana = (dashboard: Dashboard, siblings: readonly Dashboard[]) => ({
  uid: dashboard.uid,
  title: dashboard.title,
  description: dashboard.description,
  tags: ["agent-authorization"],
  schemaVersion: 39,
  version: 1,
  editable: true,
  graphTooltip: 1,
  refresh: "30s",
  time: { from: "now-6h", to: "now" },
  timezone: "browser",
  templating: {
    list: [{ name: "datasource", label: "Prometheus", type: "datasource", query: "prometheus", current: {} }],
  },
  annotations: { list: [firingAlerts] },
  links: siblings
    .filter(({ uid }) => uid !== dashboard.uid)
    .map(({ uid, title }) => ({ title, type: "link", url: `/d/${uid}`, keepTime: true, icon: "dashboard" })),
  panels: layOut(dashboard.rows),
});

const firingAlerts = {
  name: "Alerts",
  datasource,
  enable: true,
  iconColor: "red",
  expr: 'ALERTS{alertname=~"Svc.*", alertstate="firing", severity="critical"}',
  titleFormat: "{{alertname}}",
};

/** Rows from top to bottom, their panels from left to right, wrapped into lines. */
function layOut(rows: readonly Row[]): object[] {
  const placed: object[] = [];
  let y = 0;
  for (const { title, panels } of rows) {
    placed.push({
      id: placed.length + 1,
      type: "row",
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: columns, h: 1 },
      panels: [],
    });
    y += 1;
    for (const line of toLines(panels)) {
      const h = Math.max(...line.map(({ kind }) => heights[kind]));
      let x = 0;
      for (const panel of line) {
        const w = widthOf(panel);
        placed.push(toGrafanaPanel(panel, placed.length + 1, { x, y, w, h }));
        x += w;
      }
      y += h;
    }
  }
  return placed;
}

const widthOf = ({ kind, width }: Panel): number => width ?? (kind === "stat" ? 4 : 12);

function toLines(panels: readonly Panel[]): readonly (readonly Panel[])[] {
  const lines: Panel[][] = [];
  let used = columns;
  for (const panel of panels) {
    if (used + widthOf(panel) > columns) {
      lines.push([]);
      used = 0;
    }
    lines.at(-1)?.push(panel);
    used += widthOf(panel);
  }
  return lines;
}
