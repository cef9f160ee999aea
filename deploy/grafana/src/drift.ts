import type { Dashboard } from "./dashboard.ts";
import { stat, timeseries } from "./panel.ts";
import { select } from "./select.ts";

export const drift: Dashboard = {
  uid: "svc-drift",
  title: "Agent authorization: drift",
  description: "Calls of tests against declared manifests, from the files that `svc drift check` writes.",
  source: "svc_drift_runs_total",
  narrowing: ["cluster", "namespace", "instance"],
  notes: `Each figure is that of the last check of each node exporter that reads such a file; a file that is no longer
written keeps its last figures. **Cluster** and **Namespace** are labels of your scrape configuration.`,
  alerts: ["svc-drift"],
  rows: {
    "Last check": [
      stat(
        "Undeclared edges",
        "Recorded by tests and declared in no manifest: enforcement would deny them.",
        { red: 1 },
        `max(${select("svc_drift_undeclared_edges")})`,
      ),
      stat(
        "Lost events",
        "Missing from the traces: above 0, the result is not valid.",
        { red: 1 },
        `max(${select("svc_drift_lost_events")})`,
      ),
      stat(
        "Unexercised edges",
        "Declared but used by no test: remove them or test them.",
        "none",
        `max(${select("svc_drift_unexercised_edges")})`,
      ),
    ],
    "Over time": [
      timeseries(
        "Result of the last check",
        "pass, drift or error: the result has the value 1.",
        { colors: { pass: "green", drift: "red", error: "orange" } },
        { "{{result}}": `max by (result) (${select("svc_drift_runs_total")})` },
      ),
      timeseries("Edges", "Undeclared must be 0 before upstreams enforce; unexercised should shrink.", "none", {
        undeclared: `max(${select("svc_drift_undeclared_edges")})`,
        unexercised: `max(${select("svc_drift_unexercised_edges")})`,
      }),
    ],
  },
};
