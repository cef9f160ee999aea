import type { Dashboard } from "./dashboard.ts";
import { outcomeColors, stacked, stat, table, timeseries } from "./panel.ts";

const wouldBlock = 'svc_pep_calls_total{outcome="observed_would_block"}';

export const rollout: Dashboard = {
  uid: "svc-rollout",
  title: "Agent authorization: from observing to enforcing",
  description: "What enforcement would change, and which enforcement points can be switched over.",
  rows: [
    {
      title: "If everything enforced now",
      panels: [
        stat({
          title: "Would be blocked",
          description: "Share of calls over five minutes that pass only because their upstream is observed.",
          unit: "percentunit",
          queries: [{ expr: "svc:pep_would_block:ratio_rate5m" }],
          thresholds: [
            [0.0001, "yellow"],
            [0.05, "red"],
          ],
          width: 6,
        }),
        stat({
          title: "Would be blocked, over a day",
          description:
            "The same over a day: what runs once a night counts too. Enforce when it has been 0 for a while.",
          unit: "percentunit",
          queries: [{ expr: "svc:pep_would_block:ratio_rate1d" }],
          thresholds: [
            [0.0001, "yellow"],
            [0.05, "red"],
          ],
          width: 6,
        }),
        stat({
          title: "Calls affected in a day",
          description: "How many calls that were.",
          unit: "short",
          queries: [{ expr: `sum(increase(${wouldBlock}[1d]))` }],
          thresholds: [[1, "yellow"]],
          width: 6,
        }),
        stat({
          title: "Still observing",
          description: "Enforcement points with an upstream that is only observed.",
          unit: "none",
          queries: [{ expr: 'count(svc_pep_info{mode="observing"}) or vector(0)' }],
          thresholds: [[1, "yellow"]],
          width: 6,
        }),
      ],
    },
    {
      title: "Which",
      panels: [
        table({
          title: "Ready to enforce",
          description:
            "Observing, had calls today, and nothing that enforcement would have refused. The value is their calls.",
          unit: "short",
          queries: [
            {
              expr: `(sum by (instance) (increase(svc_pep_calls_total[1d])) > 0) and on (instance) svc_pep_info{mode="observing"} unless on (instance) (sum by (instance) (increase(${wouldBlock}[1d])) > 0)`,
            },
          ],
        }),
        table({
          title: "Not ready",
          description:
            "Observing, with calls that enforcement would have refused today. `svc would-block` and the console name the agents, targets and reasons, and the manifest change that would admit them.",
          unit: "short",
          queries: [{ expr: `sum by (instance) (increase(${wouldBlock}[1d])) > 0` }],
        }),
      ],
    },
    {
      title: "Why",
      panels: [
        timeseries({
          title: "Would-block share by enforcement point",
          description: "Falls to 0 as manifests catch up with what agents really do.",
          unit: "percentunit",
          queries: [
            {
              expr: `sum by (instance) (rate(${wouldBlock}[5m])) / (sum by (instance) (rate(svc_pep_calls_total[5m])) > 0)`,
              legend: "{{instance}}",
            },
          ],
        }),
        stacked({
          title: "Recorded denies by reason",
          description:
            "Enforced and observed together: while everything is observed these are the would-blocks. *_NOT_DECLARED wants a manifest; SCOPE_NOT_CONSENTED a consent; the others are meant.",
          unit: "ops",
          queries: [{ expr: "svc:denials:rate5m", legend: "{{reason}}" }],
        }),
        stacked({
          title: "Calls by outcome",
          description: "The switch shows as yellow turning red or, when manifests fit, green.",
          unit: "reqps",
          queries: [{ expr: "svc:pep_calls:rate5m", legend: "{{outcome}}" }],
          colors: outcomeColors,
        }),
        stacked({
          title: "Modes",
          description: "Enforcement points that enforce for every upstream, and those that do not yet.",
          unit: "none",
          queries: [{ expr: "count by (mode) (svc_pep_info)", legend: "{{mode}}" }],
          colors: { enforcing: "green", observing: "yellow" },
        }),
      ],
    },
  ],
};
