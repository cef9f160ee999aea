import type { Dashboard } from "./dashboard.ts";
import { outcomeColors, stacked, stat, table, timeseries } from "./panel.ts";

const wouldBlock = 'svc_pep_calls_total{outcome="observed_would_block"}';

export const rollout: Dashboard = {
  uid: "svc-rollout",
  title: "Agent authorization: from observe to enforce mode",
  description: "What enforcement would block, and which enforcement points are ready for it.",
  rows: {
    "If every upstream enforced now": [
      stat(
        "Would be blocked",
        "Share of calls in five minutes that pass only because of observe mode.",
        { unit: "percentunit", yellow: 0.0001, red: 0.05 },
        "svc:pep_would_block:ratio_rate5m",
      ),
      stat(
        "Would be blocked, over a day",
        "Share of calls in a day, nightly jobs included. Enforce once it stays 0.",
        { unit: "percentunit", yellow: 0.0001, red: 0.05 },
        "svc:pep_would_block:ratio_rate1d",
      ),
      stat(
        "Calls affected in a day",
        "Number of these calls.",
        { unit: "short", yellow: 1 },
        `sum(increase(${wouldBlock}[1d]))`,
      ),
      stat(
        "Still observing",
        "Enforcement points with an upstream in observe mode.",
        { yellow: 1 },
        'count(svc_pep_info{mode="observing"}) or vector(0)',
      ),
    ],
    "Enforcement points": [
      table(
        "Ready to enforce",
        "In observe mode, with calls today of which enforcement would have blocked none. The value is the number of calls.",
        "short",
        `(sum by (instance) (increase(svc_pep_calls_total[1d])) > 0) and on (instance) svc_pep_info{mode="observing"} unless on (instance) (sum by (instance) (increase(${wouldBlock}[1d])) > 0)`,
      ),
      table(
        "Not ready",
        "In observe mode, with calls today that enforcement would have blocked. `svc would-block` and the console list agents, targets, reasons and the manifest changes that would admit them.",
        "short",
        `sum by (instance) (increase(${wouldBlock}[1d])) > 0`,
      ),
    ],
    Reasons: [
      timeseries(
        "Would-block share by enforcement point",
        "Falls to 0 as manifests declare what agents do.",
        "percentunit",
        {
          "{{instance}}": `sum by (instance) (rate(${wouldBlock}[5m])) / (sum by (instance) (rate(svc_pep_calls_total[5m])) > 0)`,
        },
      ),
      stacked(
        "Recorded denies by reason",
        "Of both modes: in observe mode these are the calls that enforcement would block. *_NOT_DECLARED needs a manifest, SCOPE_NOT_CONSENTED a consent; the others are intended.",
        "ops",
        { "{{reason}}": "svc:denials:rate5m" },
      ),
      stacked(
        "Calls by outcome",
        "After the switch yellow turns red or, where manifests fit, green.",
        { unit: "reqps", colors: outcomeColors },
        { "{{outcome}}": "svc:pep_calls:rate5m" },
      ),
      stacked(
        "Modes",
        "Enforcement points that enforce for every upstream, and the others.",
        { colors: { enforcing: "green", observing: "yellow" } },
        { "{{mode}}": "count by (mode) (svc_pep_info)" },
      ),
    ],
  },
};
