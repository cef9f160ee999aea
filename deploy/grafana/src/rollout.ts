import type { Dashboard } from "./dashboard.ts";
import { recordedNotes } from "./notes.ts";
import { outcomeColors, stacked, stat, table, timeseries } from "./panel.ts";
import { inMode, select, share } from "./select.ts";

const observed = 'outcome="observed_would_block"';
const calls = (matchers?: string) => inMode(select("svc:pep_calls:rate5m", matchers));
const callsOfDay = (matchers?: string) => inMode(select("svc:pep_calls:rate1d", matchers));
const byPlace = (vector: string) => `sum by (cluster, namespace, instance) (${vector})`;
const place = "cluster, namespace, instance";
const secondsOfDay = 86_400;
/** By enforcement point; both tables show calls of a day. */
const wouldBlockOfDay = `${byPlace(callsOfDay(observed))} * ${secondsOfDay} > 0`;
const observing = select("svc_pep_info", 'mode="observing"');
const wouldBlockPage = "/would-block";

export const rollout: Dashboard = {
  uid: "svc-rollout",
  title: "Agent authorization: from observe to enforce mode",
  description: "What enforcement would block, and which enforcement points are ready for it.",
  source: "svc_pep_info",
  narrowing: ["cluster", "namespace", "instance", "mode"],
  notes: `${recordedNotes} Shares and numbers of a day are complete once a day was recorded.`,
  alerts: [],
  rows: {
    "If every upstream enforced now": [
      stat(
        "Would be blocked",
        "Share of calls in five minutes that pass only because of observe mode.",
        { unit: "percentunit", yellow: 0.0001, red: 0.05 },
        share(calls(observed), calls()),
      ),
      stat(
        "Would be blocked, over a day",
        "Share of calls in a day, nightly jobs included. Enforce once it stays 0.",
        { unit: "percentunit", yellow: 0.0001, red: 0.05 },
        share(callsOfDay(observed), callsOfDay()),
      ),
      stat(
        "Calls affected in a day",
        "Number of these calls.",
        { unit: "short", yellow: 1, console: wouldBlockPage },
        `sum(${callsOfDay(observed)}) * ${secondsOfDay}`,
      ),
      stat(
        "Still observing",
        "Enforcement points with an upstream in observe mode.",
        { yellow: 1 },
        `count(${inMode(observing)})`,
      ),
    ],
    "Enforcement points": [
      table(
        "Ready to enforce",
        "In observe mode, with calls today of which enforcement would have blocked none. The value is the number of calls.",
        "short",
        `(${byPlace(callsOfDay())} * ${secondsOfDay} > 0) and on (${place}) ${observing} unless on (${place}) (${wouldBlockOfDay})`,
      ),
      table(
        "Not ready",
        "In observe mode, with calls today that enforcement would have blocked. `svc would-block` and the console list agents, targets, reasons and the manifest changes that would admit them.",
        { unit: "short", console: wouldBlockPage },
        wouldBlockOfDay,
      ),
    ],
    Reasons: [
      timeseries(
        "Would-block share by enforcement point",
        "Falls to 0 as manifests declare what agents do.",
        "percentunit",
        {
          "{{instance}}": `${byPlace(calls(observed))} / (${byPlace(calls())} > 0)`,
        },
      ),
      stacked(
        "Recorded denies by reason",
        "Of both modes: in observe mode these are the calls that enforcement would block. *_NOT_DECLARED needs a manifest, SCOPE_NOT_CONSENTED a consent; the others are intended. The variables do not narrow it.",
        { unit: "ops", console: "/decisions?outcome=deny&reason={{reason}}" },
        { "{{reason}}": "sum by (reason) (svc:denials:rate5m)" },
      ),
      stacked(
        "Calls by outcome",
        "After the switch yellow turns red or, where manifests fit, green.",
        { unit: "reqps", colors: outcomeColors },
        { "{{outcome}}": `sum by (outcome) (${calls()})` },
      ),
      stacked(
        "Modes",
        "Enforcement points that enforce for every upstream, and the others.",
        { colors: { enforcing: "green", observing: "yellow" } },
        { "{{mode}}": `count by (mode) (${select("svc_pep_info", 'mode=~"$mode"')})` },
      ),
    ],
  },
};
