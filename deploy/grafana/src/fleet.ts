import type { Dashboard } from "./dashboard.ts";
import { recordedNotes } from "./notes.ts";
import { outcomeColors, stacked, stat, table, timeseries } from "./panel.ts";
import { inMode, quantile, select, share } from "./select.ts";

const calls = (matchers?: string) => inMode(select("svc:pep_calls:rate5m", matchers));
const blocks = (matchers?: string) => inMode(select("svc:pep_blocks:rate5m", matchers));
const overhead = inMode(select("svc:pep_overhead_seconds_bucket:rate5m"));
const stages = inMode(select("svc:pep_stage_duration_seconds_bucket:rate5m"));
const rate = (counter: string) => inMode(`rate(${select(counter)}[5m])`);
const blockedPage = "/decisions?outcome=deny";

export const fleet: Dashboard = {
  uid: "svc-fleet",
  title: "Agent authorization: fleet",
  description: "Outcomes and overhead of the enforcement points.",
  source: "svc_pep_info",
  narrowing: ["cluster", "namespace", "instance", "mode"],
  notes: recordedNotes,
  alerts: ["svc-enforcement-points", "svc-overhead-objective", "svc-telemetry"],
  rows: {
    Now: [
      stat(
        "Enforcement points",
        "How many serve. Compare with the number you run: one that is not scraped is not counted.",
        "none",
        `sum(${inMode(select("svc_pep_up"))})`,
      ),
      stat(
        "Observing",
        "Enforcement points with at least one upstream in observe mode: it blocks nothing.",
        { yellow: 1 },
        `count(${inMode(select("svc_pep_info", 'mode="observing"'))})`,
      ),
      stat("Calls", "Proxied calls a second, of every outcome.", "reqps", `sum(${calls()})`),
      stat(
        "Blocked",
        "Share of blocked calls, of every cause.",
        { unit: "percentunit", yellow: 0.2, red: 0.5, console: blockedPage },
        share(calls('outcome="blocked"'), calls()),
      ),
      stat(
        "Guardrail failures",
        "Calls a second that were blocked because the guardrail itself failed. Above 0 pages.",
        { unit: "reqps", red: 0.001 },
        `sum(${blocks('cause=~".*_unreachable|audit_unavailable"')})`,
      ),
      stat(
        "Overhead, p99",
        "99 of 100 calls were delayed by less. The objective is 50 ms.",
        { unit: "s", yellow: 0.05, red: 0.25 },
        quantile(0.99, overhead),
      ),
    ],
    Calls: [
      stacked(
        "Calls by outcome",
        "observed_would_block passed; in enforce mode it would have been blocked.",
        { unit: "reqps", colors: outcomeColors },
        { "{{outcome}}": `sum by (outcome) (${calls()})` },
      ),
      stacked(
        "Blocks by cause",
        "policy: a deny. *_unreachable and audit_unavailable: the guardrail failed closed, and pages. unauthorized, body_too_large and unbindable are faults of the caller; unresolvable_call is a missing route.",
        { unit: "reqps", console: blockedPage },
        { "{{cause}}": `sum by (cause) (${blocks()})` },
      ),
    ],
    Overhead: [
      timeseries("Overhead", "Time that the guardrail added to a call: total minus upstream.", "s", {
        p50: quantile(0.5, overhead),
        p99: quantile(0.99, overhead),
      }),
      timeseries(
        "Budget burn of the overhead objective",
        "1 uses the month's budget (1% of calls slower than 50 ms) in a month; 14.4 in two days, which pages. The variables do not narrow it.",
        { unit: "short", yellow: 6, red: 14.4 },
        {
          "over 5 min": "svc:pep_overhead_slow:ratio_rate5m / 0.01",
          "over 1 h": "svc:pep_overhead_slow:ratio_rate1h / 0.01",
          "over 6 h": "svc:pep_overhead_slow:ratio_rate6h / 0.01",
        },
      ),
      timeseries("Stages, p50", "decide and mint wait for the database, exchange for database and cache store.", "s", {
        "{{stage}}": quantile(0.5, stages, ["stage"]),
      }),
      timeseries("Stages, p99", "Where the slowest calls spend their time; upstream is the server's own time.", "s", {
        "{{stage}}": quantile(0.99, stages, ["stage"]),
      }),
    ],
    "Instances and telemetry": [
      table(
        "Enforcement points",
        "Mode and version. enforcing: every upstream is in enforce mode.",
        "none",
        select("svc_pep_info", 'mode=~"$mode"'),
      ),
      timeseries(
        "Unused trace context, lost telemetry",
        "absent: the agent sent none, which is normal. Lost telemetry never changes a decision.",
        "ops",
        {
          "context {{cause}}": `sum by (cause) (${rate("svc_trace_context_rejected_total")})`,
          "{{signal}}s lost": `sum by (signal) (${rate("svc_telemetry_dropped_total")})`,
        },
      ),
    ],
  },
};
