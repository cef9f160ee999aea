import type { Dashboard } from "./dashboard.ts";
import { stat, timeseries } from "./panel.ts";

export const drift: Dashboard = {
  uid: "svc-drift",
  title: "Agent authorization: drift",
  description: "Whether what tests exercise is what manifests declare, from the files that `svc drift check` writes.",
  rows: [
    {
      title: "Last check",
      panels: [
        stat({
          title: "Undeclared edges",
          description: "Recorded by tests and declared by no manifest: enforcement would deny them.",
          unit: "none",
          queries: [{ expr: "max(svc_drift_undeclared_edges)" }],
          thresholds: [[1, "red"]],
          width: 8,
        }),
        stat({
          title: "Lost events",
          description: "Missing from the traces: the verdict is worth nothing while it is above 0.",
          unit: "none",
          queries: [{ expr: "max(svc_drift_lost_events)" }],
          thresholds: [[1, "red"]],
          width: 8,
        }),
        stat({
          title: "Unexercised edges",
          description: "Declared and used by no test: candidates for removal, or for a test.",
          unit: "none",
          queries: [{ expr: "max(svc_drift_unexercised_edges)" }],
          width: 8,
        }),
      ],
    },
    {
      title: "Over time",
      panels: [
        timeseries({
          title: "Result of the last check",
          description: "pass, drift or error: 1 for the one it was.",
          unit: "none",
          queries: [{ expr: "max by (result) (svc_drift_runs_total)", legend: "{{result}}" }],
          colors: { pass: "green", drift: "red", error: "orange" },
        }),
        timeseries({
          title: "Edges",
          description: "Undeclared must be 0 before upstreams enforce; unexercised should shrink.",
          unit: "none",
          queries: [
            { expr: "max(svc_drift_undeclared_edges)", legend: "undeclared" },
            { expr: "max(svc_drift_unexercised_edges)", legend: "unexercised" },
          ],
        }),
      ],
    },
  ],
};
