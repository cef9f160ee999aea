import type { Dashboard } from "./dashboard.ts";
import { outcomeColors, stacked, stat, timeseries } from "./panel.ts";

export const controlPlane: Dashboard = {
  uid: "svc-control-plane",
  title: "Agent authorization: control plane",
  description: "Decisions, records, identities, and the resource servers that verify offline.",
  rows: [
    {
      title: "Now",
      panels: [
        stat({
          title: "Decisions",
          description: "Recorded decisions a second, allow and deny.",
          unit: "ops",
          queries: [{ expr: "sum(svc:decisions:rate5m)" }],
        }),
        stat({
          title: "Denied",
          description: "Share of decisions that were denies, observed ones included.",
          unit: "percentunit",
          queries: [{ expr: "svc:decisions_denied:ratio_rate5m" }],
        }),
        stat({
          title: "Audit writes failed",
          description: "In the last hour. What could not be recorded was refused; anything above 0 pages.",
          unit: "none",
          queries: [{ expr: "sum(increase(svc_audit_write_failures_total[1h]))" }],
          thresholds: [[1, "red"]],
        }),
        stat({
          title: "Broken chains",
          description:
            "Found in the last day by whoever read them. Above 0 records are missing or contradict each other.",
          unit: "none",
          queries: [{ expr: 'sum(increase(svc_chain_queries_total{result="broken"}[1d]))' }],
          thresholds: [[1, "red"]],
        }),
        stat({
          title: "Revocations",
          description: "Agents revoked in the last day.",
          unit: "none",
          queries: [{ expr: "sum(increase(svc_revocations_total[1d]))" }],
        }),
        stat({
          title: "Identities disclosed",
          description: "1 while some process exports names in clear (SVC_TELEMETRY_DISCLOSE_IDENTITIES).",
          unit: "none",
          queries: [{ expr: "max(svc_telemetry_identity_disclosure)" }],
          thresholds: [[1, "yellow"]],
        }),
      ],
    },
    {
      title: "Decisions",
      panels: [
        stacked({
          title: "Decisions by outcome",
          description: "What was recorded. A decision that is not recorded is not told.",
          unit: "ops",
          queries: [{ expr: "svc:decisions:rate5m", legend: "{{outcome}}" }],
          colors: outcomeColors,
        }),
        stacked({
          title: "Denies by reason",
          description:
            "AGENT_REVOKED, SESSION_REVOKED and TARGET_BLOCKED are people's doing; *_NOT_DECLARED are manifests'.",
          unit: "ops",
          queries: [{ expr: "svc:denials:rate5m", legend: "{{reason}}" }],
        }),
        timeseries({
          title: "Taint",
          description: "Marks set on sessions that read from outside, and calls denied because of one.",
          unit: "ops",
          queries: [
            { expr: "sum(rate(svc_taint_marks_total[5m]))", legend: "marks set" },
            { expr: "sum(rate(svc_taint_blocks_total[5m]))", legend: "calls denied" },
          ],
        }),
        timeseries({
          title: "Transaction tokens",
          description: "Asked for by privileged calls.",
          unit: "ops",
          queries: [{ expr: "sum by (result) (rate(svc_transaction_mints_total[5m]))", legend: "{{result}}" }],
        }),
      ],
    },
    {
      title: "Record",
      panels: [
        timeseries({
          title: "Chain records",
          description: "Committed, and those that could not be.",
          unit: "ops",
          queries: [
            { expr: "sum(rate(svc_chain_writes_total[5m]))", legend: "committed" },
            { expr: "sum(rate(svc_audit_write_failures_total[5m]))", legend: "failed" },
          ],
          colors: { failed: "red" },
        }),
        timeseries({
          title: "Chain reads",
          description: "By what was found, and how long 99 of 100 took at most.",
          unit: "ops",
          queries: [{ expr: "sum by (result) (rate(svc_chain_queries_total[5m]))", legend: "{{result}}" }],
        }),
        timeseries({
          title: "Chain reads, p99",
          description: "Flat however large the log is; when it rises look at the database.",
          unit: "s",
          queries: [{ expr: "svc:chain_query_duration_seconds:p99_rate5m", legend: "p99" }],
        }),
      ],
    },
    {
      title: "Identity",
      panels: [
        timeseries({
          title: "Enrollments",
          description: "quarantined wants a person to look.",
          unit: "ops",
          queries: [{ expr: "sum by (status) (rate(svc_enrollments_total[5m]))", legend: "{{status}}" }],
        }),
        timeseries({
          title: "Proofs of possession that failed",
          description:
            "missing: an agent without a key. wrong_agent: a token presented by somebody else than it was made for.",
          unit: "ops",
          queries: [{ expr: "sum by (cause) (rate(svc_exchange_pop_failures_total[5m]))", legend: "{{cause}}" }],
        }),
        timeseries({
          title: "Hops of revoked agents",
          description: "Refused, and by which step. Above 0 a revoked agent still runs.",
          unit: "ops",
          queries: [{ expr: "sum by (stage) (rate(svc_revoked_hop_refusals_total[5m]))", legend: "{{stage}}" }],
        }),
      ],
    },
    {
      title: "Resource servers",
      panels: [
        timeseries({
          title: "Admissions",
          description: "What verifiers decided offline.",
          unit: "ops",
          queries: [{ expr: "sum by (result) (rate(svc_admissions_total[5m]))", legend: "{{result}}" }],
        }),
        timeseries({
          title: "Transaction tokens refused",
          description: "params_mismatch and replayed are worth a look at once.",
          unit: "ops",
          queries: [{ expr: "sum by (cause) (rate(svc_transaction_rejections_total[5m]))", legend: "{{cause}}" }],
        }),
        timeseries({
          title: "Age of the view of identities",
          description: "At its freshness (60 s by default) a resource server refuses every call.",
          unit: "s",
          queries: [{ expr: "max by (instance) (svc_identity_view_age_seconds)", legend: "{{instance}}" }],
          thresholds: [
            [45, "yellow"],
            [60, "red"],
          ],
        }),
      ],
    },
  ],
};
