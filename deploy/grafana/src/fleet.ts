import type { Dashboard } from "./dashboard.ts";
import { outcomeColors, stacked, stat, table, timeseries } from "./panel.ts";

export const fleet: Dashboard = {
  uid: "svc-fleet",
  title: "Agent authorization: fleet",
  description: "What the enforcement points do, and what they cost.",
  rows: [
    {
      title: "Now",
      panels: [
        stat({
          title: "Enforcement points",
          description: "How many serve. Compare with how many you run: one that is not scraped is not counted.",
          unit: "none",
          queries: [{ expr: "sum(svc_pep_up)" }],
        }),
        stat({
          title: "Observing",
          description:
            "Enforcement points with at least one upstream that is only observed: what it would block passes.",
          unit: "none",
          queries: [{ expr: 'count(svc_pep_info{mode="observing"}) or vector(0)' }],
          thresholds: [[1, "yellow"]],
        }),
        stat({
          title: "Calls",
          description: "Proxied calls a second, whatever became of them.",
          unit: "reqps",
          queries: [{ expr: "sum(svc:pep_calls:rate5m)" }],
        }),
        stat({
          title: "Blocked",
          description: "Share of calls that were refused, for whatever cause.",
          unit: "percentunit",
          queries: [{ expr: 'sum(svc:pep_calls:rate5m{outcome="blocked"}) / sum(svc:pep_calls:rate5m)' }],
          thresholds: [
            [0.2, "yellow"],
            [0.5, "red"],
          ],
        }),
        stat({
          title: "Guardrail failures",
          description: "Calls a second that were refused because the guardrail itself failed. Anything above 0 pages.",
          unit: "reqps",
          queries: [{ expr: 'sum(svc:pep_blocks:rate5m{cause=~".*_unreachable|audit_unavailable"})' }],
          thresholds: [[0.001, "red"]],
        }),
        stat({
          title: "Overhead, p99",
          description: "99 of 100 calls were delayed by less than this. The objective is 50 ms.",
          unit: "s",
          queries: [{ expr: "svc:pep_overhead_seconds:p99_rate5m" }],
          thresholds: [
            [0.05, "yellow"],
            [0.25, "red"],
          ],
        }),
      ],
    },
    {
      title: "Calls",
      panels: [
        stacked({
          title: "Calls by outcome",
          description: "observed_would_block passed, and would have been refused if its upstream enforced.",
          unit: "reqps",
          queries: [{ expr: "svc:pep_calls:rate5m", legend: "{{outcome}}" }],
          colors: outcomeColors,
        }),
        stacked({
          title: "Blocks by cause",
          description:
            "policy: the guardrail worked. *_unreachable and audit_unavailable: it failed, closed, and pages. unauthorized, body_too_large and unbindable are the caller's; unresolvable_call is a route that is missing.",
          unit: "reqps",
          queries: [{ expr: "svc:pep_blocks:rate5m", legend: "{{cause}}" }],
        }),
      ],
    },
    {
      title: "Overhead",
      panels: [
        timeseries({
          title: "Overhead",
          description: "Time that the guardrail added to a call: total minus upstream.",
          unit: "s",
          queries: [
            { expr: "svc:pep_overhead_seconds:p50_rate5m", legend: "p50" },
            { expr: "svc:pep_overhead_seconds:p99_rate5m", legend: "p99" },
          ],
        }),
        timeseries({
          title: "Budget burn of the overhead objective",
          description:
            "1 burns the month's budget (1% of calls slower than 50 ms) in a month; 14.4 within two days, which pages.",
          unit: "short",
          queries: [
            { expr: "svc:pep_overhead_slow:ratio_rate5m / 0.01", legend: "over 5 min" },
            { expr: "svc:pep_overhead_slow:ratio_rate1h / 0.01", legend: "over 1 h" },
            { expr: "svc:pep_overhead_slow:ratio_rate6h / 0.01", legend: "over 6 h" },
          ],
          thresholds: [
            [6, "yellow"],
            [14.4, "red"],
          ],
        }),
        timeseries({
          title: "Stages, p50",
          description: "decide and mint wait for the database, exchange for database and cache store.",
          unit: "s",
          queries: [{ expr: "svc:pep_stage_duration_seconds:p50_rate5m", legend: "{{stage}}" }],
        }),
        timeseries({
          title: "Stages, p99",
          description: "Where the slowest calls spend their time. upstream is not ours.",
          unit: "s",
          queries: [{ expr: "svc:pep_stage_duration_seconds:p99_rate5m", legend: "{{stage}}" }],
        }),
      ],
    },
    {
      title: "Instances and telemetry",
      panels: [
        table({
          title: "Enforcement points",
          description: "Mode and version of each. enforcing: every one of its upstreams enforces.",
          unit: "none",
          queries: [{ expr: "svc_pep_info" }],
        }),
        timeseries({
          title: "Trace context not used, telemetry lost",
          description: "absent is normal for agents that send none. Lost telemetry never changes a decision.",
          unit: "ops",
          queries: [
            { expr: "sum by (cause) (rate(svc_trace_context_rejected_total[5m]))", legend: "context {{cause}}" },
            { expr: "sum by (signal) (rate(svc_telemetry_dropped_total[5m]))", legend: "{{signal}}s lost" },
          ],
        }),
      ],
    },
  ],
};
