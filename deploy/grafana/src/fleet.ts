import type { Dashboard } from "./dashboard.ts";
import { outcomeColors, stacked, stat, table, timeseries } from "./panel.ts";

export const fleet: Dashboard = {
  uid: "svc-fleet",
  title: "Agent authorization: fleet",
  description: "Outcomes and overhead of the enforcement points.",
  rows: {
    Now: [
      stat(
        "Enforcement points",
        "How many serve. Compare with the number you run: one that is not scraped is not counted.",
        "none",
        "sum(svc_pep_up)",
      ),
      stat(
        "Observing",
        "Enforcement points with at least one upstream in observe mode: it blocks nothing.",
        { yellow: 1 },
        'count(svc_pep_info{mode="observing"}) or vector(0)',
      ),
      stat("Calls", "Proxied calls a second, of every outcome.", "reqps", "sum(svc:pep_calls:rate5m)"),
      stat(
        "Blocked",
        "Share of blocked calls, of every cause.",
        { unit: "percentunit", yellow: 0.2, red: 0.5 },
        'sum(svc:pep_calls:rate5m{outcome="blocked"}) / sum(svc:pep_calls:rate5m)',
      ),
      stat(
        "Guardrail failures",
        "Calls a second that were blocked because the guardrail itself failed. Above 0 pages.",
        { unit: "reqps", red: 0.001 },
        'sum(svc:pep_blocks:rate5m{cause=~".*_unreachable|audit_unavailable"})',
      ),
      stat(
        "Overhead, p99",
        "99 of 100 calls were delayed by less. The objective is 50 ms.",
        { unit: "s", yellow: 0.05, red: 0.25 },
        "svc:pep_overhead_seconds:p99_rate5m",
      ),
    ],
    Calls: [
      stacked(
        "Calls by outcome",
        "observed_would_block passed; in enforce mode it would have been blocked.",
        { unit: "reqps", colors: outcomeColors },
        { "{{outcome}}": "svc:pep_calls:rate5m" },
      ),
      stacked(
        "Blocks by cause",
        "policy: a deny. *_unreachable and audit_unavailable: the guardrail failed closed, and pages. unauthorized, body_too_large and unbindable are faults of the caller; unresolvable_call is a missing route.",
        "reqps",
        { "{{cause}}": "svc:pep_blocks:rate5m" },
      ),
    ],
    Overhead: [
      timeseries("Overhead", "Time that the guardrail added to a call: total minus upstream.", "s", {
        p50: "svc:pep_overhead_seconds:p50_rate5m",
        p99: "svc:pep_overhead_seconds:p99_rate5m",
      }),
      timeseries(
        "Budget burn of the overhead objective",
        "1 uses the month's budget (1% of calls slower than 50 ms) in a month; 14.4 in two days, which pages.",
        { unit: "short", yellow: 6, red: 14.4 },
        {
          "over 5 min": "svc:pep_overhead_slow:ratio_rate5m / 0.01",
          "over 1 h": "svc:pep_overhead_slow:ratio_rate1h / 0.01",
          "over 6 h": "svc:pep_overhead_slow:ratio_rate6h / 0.01",
        },
      ),
      timeseries("Stages, p50", "decide and mint wait for the database, exchange for database and cache store.", "s", {
        "{{stage}}": "svc:pep_stage_duration_seconds:p50_rate5m",
      }),
      timeseries("Stages, p99", "Where the slowest calls spend their time; upstream is the server's own time.", "s", {
        "{{stage}}": "svc:pep_stage_duration_seconds:p99_rate5m",
      }),
    ],
    "Instances and telemetry": [
      table(
        "Enforcement points",
        "Mode and version. enforcing: every upstream is in enforce mode.",
        "none",
        "svc_pep_info",
      ),
      timeseries(
        "Unused trace context, lost telemetry",
        "absent: the agent sent none, which is normal. Lost telemetry never changes a decision.",
        "ops",
        {
          "context {{cause}}": "sum by (cause) (rate(svc_trace_context_rejected_total[5m]))",
          "{{signal}}s lost": "sum by (signal) (rate(svc_telemetry_dropped_total[5m]))",
        },
      ),
    ],
  },
};
