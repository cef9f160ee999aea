import type { Dashboard } from "./dashboard.ts";
import { outcomeColors, stacked, stat, timeseries } from "./panel.ts";

export const controlPlane: Dashboard = {
  uid: "svc-control-plane",
  title: "Agent authorization: control plane",
  description: "Decisions, records, identities, and the resource servers that verify offline.",
  rows: {
    Now: [
      stat("Decisions", "Recorded decisions a second, allow and deny.", "ops", "sum(svc:decisions:rate5m)"),
      stat(
        "Denied",
        "Share of denies among decisions, in observe mode too.",
        "percentunit",
        "svc:decisions_denied:ratio_rate5m",
      ),
      stat(
        "Audit writes failed",
        "In the last hour. A call that could not be recorded was refused; above 0 pages.",
        { red: 1 },
        "sum(increase(svc_audit_write_failures_total[1h]))",
      ),
      stat(
        "Broken chains",
        "Found by chain reads in the last day. Above 0, records are missing or contradict each other.",
        { red: 1 },
        'sum(increase(svc_chain_queries_total{result="broken"}[1d]))',
      ),
      stat("Revocations", "Agents revoked in the last day.", "none", "sum(increase(svc_revocations_total[1d]))"),
      stat(
        "Identities disclosed",
        "1 while a process exports names in clear text (SVC_TELEMETRY_DISCLOSE_IDENTITIES).",
        { yellow: 1 },
        "max(svc_telemetry_identity_disclosure)",
      ),
    ],
    Decisions: [
      stacked(
        "Decisions by outcome",
        "Recorded decisions. A decision is returned only after it is recorded.",
        { unit: "ops", colors: outcomeColors },
        { "{{outcome}}": "svc:decisions:rate5m" },
      ),
      stacked(
        "Denies by reason",
        "AGENT_REVOKED, SESSION_REVOKED and TARGET_BLOCKED follow from acts of people; *_NOT_DECLARED from manifests.",
        "ops",
        { "{{reason}}": "svc:denials:rate5m" },
      ),
      timeseries("Taint", "Taint marks set by untrusted data, and calls denied because of one.", "ops", {
        "marks set": "sum(rate(svc_taint_marks_total[5m]))",
        "calls denied": "sum(rate(svc_taint_blocks_total[5m]))",
      }),
      timeseries("Transaction tokens", "Requested by privileged calls.", "ops", {
        "{{result}}": "sum by (result) (rate(svc_transaction_mints_total[5m]))",
      }),
    ],
    Record: [
      timeseries(
        "Chain records",
        "Committed and failed.",
        { unit: "ops", colors: { failed: "red" } },
        {
          committed: "sum(rate(svc_chain_writes_total[5m]))",
          failed: "sum(rate(svc_audit_write_failures_total[5m]))",
        },
      ),
      timeseries("Chain reads", "Chain reads per second, by result.", "ops", {
        "{{result}}": "sum by (result) (rate(svc_chain_queries_total[5m]))",
      }),
      timeseries("Chain reads, p99", "Independent of the size of the log; a rise points to the database.", "s", {
        p99: "svc:chain_query_duration_seconds:p99_rate5m",
      }),
    ],
    Identity: [
      timeseries("Enrollments", "A quarantined agent needs a person's review.", "ops", {
        "{{status}}": "sum by (status) (rate(svc_enrollments_total[5m]))",
      }),
      timeseries(
        "Failed proofs of possession",
        "missing: an agent without a key. wrong_agent: a token presented by another agent than it was issued to.",
        "ops",
        { "{{cause}}": "sum by (cause) (rate(svc_exchange_pop_failures_total[5m]))" },
      ),
      timeseries("Hops denied for revoked agents", "Above 0, a revoked agent still runs or is still called.", "ops", {
        "{{stage}}": "sum by (stage) (rate(svc_revoked_hop_refusals_total[5m]))",
      }),
    ],
    "Resource servers": [
      timeseries("Admissions", "Offline decisions of verifiers.", "ops", {
        "{{result}}": "sum by (result) (rate(svc_admissions_total[5m]))",
      }),
      timeseries("Refused transaction tokens", "Investigate params_mismatch and replayed at once.", "ops", {
        "{{cause}}": "sum by (cause) (rate(svc_transaction_rejections_total[5m]))",
      }),
      timeseries(
        "Age of the identity view",
        "A resource server refuses every call once the view is older than its freshness (60 s by default).",
        { unit: "s", yellow: 45, red: 60 },
        { "{{instance}}": "max by (instance) (svc_identity_view_age_seconds)" },
      ),
    ],
  },
};
