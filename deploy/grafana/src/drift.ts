import type { Dashboard } from "./dashboard.ts";
import { stat, timeseries } from "./panel.ts";

export const drift: Dashboard = {
  uid: "svc-drift",
  title: "Agent authorization: drift",
  description: "Calls of tests against declared manifests, from the files that `svc drift check` writes.",
  rows: {
    "Last check": [
      stat(
        "Undeclared edges",
        "Recorded by tests and declared in no manifest: enforcement would deny them.",
        { red: 1 },
        "max(svc_drift_undeclared_edges)",
      ),
      stat(
        "Lost events",
        "Missing from the traces: above 0, the result is not valid.",
        { red: 1 },
        "max(svc_drift_lost_events)",
      ),
      stat(
        "Unexercised edges",
        "Declared but used by no test: remove them or test them.",
        "none",
        "max(svc_drift_unexercised_edges)",
      ),
    ],
    "Over time": [
      timeseries(
        "Result of the last check",
        "pass, drift or error: the result has the value 1.",
        { colors: { pass: "green", drift: "red", error: "orange" } },
        { "{{result}}": "max by (result) (svc_drift_runs_total)" },
      ),
      timeseries("Edges", "Undeclared must be 0 before upstreams enforce; unexercised should shrink.", "none", {
        undeclared: "max(svc_drift_undeclared_edges)",
        unexercised: "max(svc_drift_unexercised_edges)",
      }),
    ],
  },
};
