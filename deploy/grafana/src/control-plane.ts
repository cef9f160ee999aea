import type { Dashboard } from "./dashboard.ts";
import { recordedNotes } from "./notes.ts";
import { outcomeColors, stacked, stat, timeseries } from "./panel.ts";
import { quantile, select, share } from "./select.ts";

const decisions = (matchers?: string) => select("svc:decisions:rate5m", matchers);
const denials = (matchers?: string) => select("svc:denials:rate5m", matchers);
const rate = (counter: string, by?: string) =>
  `sum ${by === undefined ? "" : `by (${by}) `}(rate(${select(counter)}[5m]))`;
const increase = (counter: string, span: string, matchers?: string) =>
  `sum(increase(${select(counter, matchers)}[${span}]))`;
const denied = "/decisions?outcome=deny";

export const controlPlane: Dashboard = {
  uid: "svc-control-plane",
  title: "Agent authorization: control plane",
  description: "Decisions, records, identities, and the resource servers that verify offline.",
  source: "svc_decisions_total",
  narrowing: ["cluster", "namespace", "instance"],
  notes: recordedNotes,
  alerts: ["svc-control-plane", "svc-telemetry", "svc-verifiers"],
  rows: {
    Now: [
      stat("Decisions", "Recorded decisions a second, allow and deny.", "ops", `sum(${decisions()})`),
      stat(
        "Denied",
        "Share of denies among decisions, in observe mode too.",
        { unit: "percentunit", console: denied },
        share(decisions('outcome="deny"'), decisions()),
      ),
      stat(
        "Audit writes failed",
        "In the last hour. A call that could not be recorded was refused; above 0 pages.",
        { red: 1 },
        increase("svc_audit_write_failures_total", "1h"),
      ),
      stat(
        "Broken chains",
        "Found by chain reads in the last day. Above 0, records are missing or contradict each other.",
        { red: 1 },
        increase("svc_chain_queries_total", "1d", 'result="broken"'),
      ),
      stat("Revocations", "Agents revoked in the last day.", "none", increase("svc_revocations_total", "1d")),
      stat(
        "Identities disclosed",
        "1 while a process exports names in clear text (SVC_TELEMETRY_DISCLOSE_IDENTITIES).",
        { yellow: 1 },
        `max(${select("svc_telemetry_identity_disclosure")})`,
      ),
    ],
    Decisions: [
      stacked(
        "Decisions by outcome",
        "Recorded decisions. A decision is returned only after it is recorded.",
        { unit: "ops", colors: outcomeColors },
        { "{{outcome}}": `sum by (outcome) (${decisions()})` },
      ),
      stacked(
        "Denies by reason",
        "AGENT_REVOKED, SESSION_REVOKED and TARGET_BLOCKED follow from acts of people; *_NOT_DECLARED from manifests.",
        { unit: "ops", console: `${denied}&reason={{reason}}` },
        { "{{reason}}": `sum by (reason) (${denials()})` },
      ),
      timeseries("Taint", "Taint marks set by untrusted data, and calls denied because of one.", "ops", {
        "marks set": rate("svc_taint_marks_total"),
        "calls denied": rate("svc_taint_blocks_total"),
      }),
      timeseries("Transaction tokens", "Requested by privileged calls.", "ops", {
        "{{result}}": rate("svc_transaction_mints_total", "result"),
      }),
    ],
    Record: [
      timeseries(
        "Chain records",
        "Committed and failed.",
        { unit: "ops", colors: { failed: "red" } },
        {
          committed: rate("svc_chain_writes_total"),
          failed: rate("svc_audit_write_failures_total"),
        },
      ),
      timeseries("Chain reads", "Chain reads per second, by result.", "ops", {
        "{{result}}": rate("svc_chain_queries_total", "result"),
      }),
      timeseries("Chain reads, p99", "Independent of the size of the log; a rise points to the database.", "s", {
        p99: quantile(0.99, select("svc:chain_query_duration_seconds_bucket:rate5m")),
      }),
    ],
    Identity: [
      timeseries("Enrollments", "A quarantined agent needs a person's review.", "ops", {
        "{{status}}": rate("svc_enrollments_total", "status"),
      }),
      timeseries(
        "Failed proofs of possession",
        "missing: an agent without a key. wrong_agent: a token presented by another agent than it was issued to.",
        "ops",
        { "{{cause}}": rate("svc_exchange_pop_failures_total", "cause") },
      ),
      timeseries("Hops denied for revoked agents", "Above 0, a revoked agent still runs or is still called.", "ops", {
        "{{stage}}": rate("svc_revoked_hop_refusals_total", "stage"),
      }),
    ],
    "Resource servers": [
      timeseries("Admissions", "Offline decisions of verifiers.", "ops", {
        "{{result}}": rate("svc_admissions_total", "result"),
      }),
      timeseries("Refused transaction tokens", "Investigate params_mismatch and replayed at once.", "ops", {
        "{{cause}}": rate("svc_transaction_rejections_total", "cause"),
      }),
      timeseries(
        "Age of the identity view",
        "A resource server refuses every call once the view is older than its freshness (60 s by default).",
        { unit: "s", yellow: 45, red: 60 },
        { "{{instance}}": `max by (instance) (${select("svc_identity_view_age_seconds")})` },
      ),
    ],
  },
};
