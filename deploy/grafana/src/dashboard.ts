import { datasource, type GridPos, type Panel, toGrafanaPanel } from "./panel.ts";
import { runbookOf } from "./runbook.ts";
import { type Narrowing, variablesOf } from "./variables.ts";

export interface Dashboard {
  /** Also its file name and its path in Grafana. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** The metric whose labels can be selected, and these labels. */
  readonly source: string;
  readonly narrowing: readonly Narrowing[];
  /** By their titles, from top to bottom. */
  readonly rows: Readonly<Record<string, readonly Panel[]>>;
  /** How the figures come about, in Markdown. */
  readonly notes: string;
  /** Groups of alerts, whose runbooks are shown at the end. */
  readonly alerts: readonly string[];
}

const columns = 24;

/** The dashboard in Grafana's JSON model (schema 39: Grafana 10 and later). */
export function toGrafana(dashboard: Dashboard, siblings: readonly Dashboard[]) {
  const { panels, notesId } = layOut(dashboard);
  return {
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
    templating: { list: variablesOf(dashboard.source, dashboard.narrowing) },
    annotations: { list: [firingAlerts] },
    links: [
      { title: "Console", type: "link", url: `\${console:raw}`, targetBlank: true, icon: "external link" },
      { title: "Runbook", type: "link", url: `/d/${dashboard.uid}?viewPanel=${notesId}`, icon: "doc" },
      ...siblings
        .filter(({ uid }) => uid !== dashboard.uid)
        .map(({ uid, title }) => ({ title, type: "link", url: `/d/${uid}`, keepTime: true, icon: "dashboard" })),
    ],
    panels,
  };
}

const firingAlerts = {
  name: "Alerts",
  datasource,
  enable: true,
  iconColor: "red",
  expr: 'ALERTS{alertname=~"Svc.*", alertstate="firing", severity="critical"}',
  titleFormat: "{{alertname}}",
};

/** Rows from top to bottom, their panels from left to right, wrapped into lines; the notes at the end. */
function layOut({ rows, notes, alerts }: Dashboard): { readonly panels: readonly object[]; readonly notesId: number } {
  const placed: object[] = [];
  let y = 0;
  const begin = (title: string): void => {
    placed.push({ id: placed.length + 1, type: "row", title, collapsed: false, gridPos: line(y, 1), panels: [] });
    y += 1;
  };
  for (const [title, panels] of Object.entries(rows)) {
    begin(title);
    // The figures of a row share its width; two other panels make a line.
    const [perLine, h] = panels[0]?.kind === "stat" ? [panels.length, 4] : [2, 9];
    const w = columns / perLine;
    for (const [index, panel] of panels.entries()) {
      const place = { x: (index % perLine) * w, y: y + Math.floor(index / perLine) * h, w, h };
      placed.push(toGrafanaPanel(panel, placed.length + 1, place));
    }
    y += Math.ceil(panels.length / perLine) * h;
  }
  begin("Notes and runbook");
  const notesId = placed.length + 1;
  placed.push(notesPanel(notesId, line(y, alerts.length === 0 ? 4 : 12), [notes, runbookOf(alerts)].join("\n\n")));
  return { panels: placed, notesId };
}

const line = (y: number, h: number): GridPos => ({ x: 0, y, w: columns, h });

const notesPanel = (id: number, gridPos: GridPos, content: string) => ({
  id,
  type: "text",
  title: "Notes and runbook",
  gridPos,
  options: { mode: "markdown", content },
});
