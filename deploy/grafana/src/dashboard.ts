import { datasource, type Panel, toGrafanaPanel } from "./panel.ts";

export interface Dashboard {
  /** Also its file name and its path in Grafana. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** By their titles, from top to bottom. */
  readonly rows: Readonly<Record<string, readonly Panel[]>>;
}

const columns = 24;

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
function layOut(rows: Dashboard["rows"]): object[] {
  const placed: object[] = [];
  let y = 0;
  for (const [title, panels] of Object.entries(rows)) {
    const gridPos = { x: 0, y, w: columns, h: 1 };
    placed.push({ id: placed.length + 1, type: "row", title, collapsed: false, gridPos, panels: [] });
    y += 1;
    // The figures of a row share its width; two other panels make a line.
    const [perLine, h] = panels[0]?.kind === "stat" ? [panels.length, 4] : [2, 8];
    const w = columns / perLine;
    for (const [index, panel] of panels.entries()) {
      const place = { x: (index % perLine) * w, y: y + Math.floor(index / perLine) * h, w, h };
      placed.push(toGrafanaPanel(panel, placed.length + 1, place));
    }
    y += Math.ceil(panels.length / perLine) * h;
  }
  return placed;
}
