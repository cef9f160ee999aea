import { expect, test } from "vitest";
import {
  blockLogLevels,
  components,
  logFields,
  type MetricSpec,
  metrics,
  pseudonymKinds,
  spanAttributes,
  spans,
} from "../src/index.ts";

// Every table here is typed from docs/reference/telemetry.md#metrics, not taken from the code.

const denyReasons =
  "SESSION_EXPIRED SESSION_REVOKED AGENT_REVOKED AGENT_QUARANTINED IDENTITY_REQUIRED TARGET_BLOCKED PATH_NOT_DECLARED " +
  "HOP_BUDGET_EXCEEDED TARGET_NOT_DECLARED SCOPE_NOT_CONSENTED DATA_CLASS_NOT_DECLARED DATA_CLASS_WIDENED TAINT_BLOCKED";
const blockCauses =
  "policy pdp_unreachable exchange_unreachable mint_unreachable audit_unavailable unauthorized unresolvable_call " +
  "body_too_large unbindable other";
const popCauses = "missing invalid wrong_agent not_enrolled";

const metricRows: [name: string, type: string, emittedBy: string, labels: Record<string, string>][] = [
  ["svc_pep_calls_total", "counter", "pep", { outcome: "allowed blocked observed_would_block" }],
  ["svc_pep_blocks_total", "counter", "pep", { cause: blockCauses }],
  ["svc_pep_stage_duration_seconds", "histogram", "pep", { stage: "decide exchange mint upstream" }],
  ["svc_pep_overhead_seconds", "histogram", "pep", {}],
  ["svc_pep_up", "gauge", "pep", {}],
  ["svc_pep_info", "gauge", "pep", { mode: "enforcing observing", version: "release" }],
  ["svc_trace_context_rejected_total", "counter", "control_plane pep", { cause: "malformed absent baggage_dropped" }],
  ["svc_telemetry_dropped_total", "counter", "control_plane pep", { signal: "span log" }],
  ["svc_telemetry_identity_disclosure", "gauge", "control_plane pep", {}],
  ["svc_decisions", "counter", "control_plane", { outcome: "allow deny" }],
  ["svc_denials", "counter", "control_plane", { reason: denyReasons }],
  ["svc_audit_write_failures", "counter", "control_plane", {}],
  ["svc_chain_query_duration_seconds", "histogram", "control_plane", {}],
  ["svc_chain_queries", "counter", "control_plane", { result: "complete broken not_found" }],
  ["svc_chain_writes", "counter", "control_plane", {}],
  ["svc_taint_blocks", "counter", "control_plane", {}],
  ["svc_taint_marks", "counter", "control_plane", {}],
  ["svc_transaction_mints", "counter", "control_plane", { result: "minted refused" }],
  ["svc_enrollments", "counter", "control_plane", { status: "enrolled quarantined" }],
  ["svc_revocations", "counter", "control_plane", {}],
  ["svc_revoked_hop_refusals", "counter", "control_plane", { stage: "decide exchange" }],
  ["svc_exchange_pop_failures", "counter", "control_plane", { cause: popCauses }],
  ["svc_drift_runs", "counter", "drift", { result: "pass drift error" }],
  ["svc_drift_undeclared_edges", "gauge", "drift", {}],
  ["svc_drift_unexercised_edges", "gauge", "drift", {}],
  ["svc_drift_lost_events", "gauge", "drift", {}],
  ["svc_admissions", "counter", "verifier", { result: "admitted refused" }],
  [
    "svc_transaction_rejections",
    "counter",
    "verifier",
    { cause: "transaction_missing transaction_invalid params_mismatch replayed" },
  ],
  ["svc_identity_view_age_seconds", "gauge", "verifier", {}],
];

const specs: Record<string, MetricSpec> = metrics;

test.each(metricRows)("%s is a %s of %s with its closed labels", (name, type, emittedBy, labels) => {
  const spec = specs[name];
  expect(spec?.type).toBe(type);
  expect(spec?.emittedBy).toEqual(emittedBy.split(" "));
  const stated = Object.entries(spec?.labels ?? {}).map(([label, values]) => [
    label,
    typeof values === "string" ? values : values.join(" "),
  ]);
  expect(Object.fromEntries(stated)).toEqual(labels);
});

test("no metric exists beyond the tables", () => {
  expect(Object.keys(metrics).sort()).toEqual(metricRows.map(([name]) => name).sort());
});

test("no label of any metric can carry an identity", () => {
  const labels = new Set(Object.values(specs).flatMap((spec) => Object.keys(spec.labels)));
  expect([...labels].sort()).toEqual(
    ["cause", "mode", "outcome", "reason", "result", "signal", "stage", "status", "version"].sort(),
  );
});

test("every span has one emitter, and there are no other spans", () => {
  expect(spans).toEqual({
    "authz.decide": "control_plane",
    "authz.exchange": "control_plane",
    "authz.transaction.mint": "control_plane",
    "pep.forward": "pep",
    "verify.admit": "verifier",
  });
});

const attributeRows: [key: string, kind: string][] = [
  ["authz.action_id", "uuid"],
  ["authz.session_id", "uuid"],
  ["authz.hop", "ordinal"],
  ["authz.outcome", "allow deny"],
  ["authz.deny_reason", denyReasons],
  ["authz.recoverable", "boolean"],
  ["authz.enforced", "boolean"],
  ["authz.target_kind", "tool agent"],
  ["authz.data_class", "data_class"],
  ["authz.privileged", "boolean"],
  ["authz.taint", "trusted_internal untrusted_external"],
  ["authz.policy_version", "integer"],
  ["authz.guarantee_level", "full connector network consent_only"],
  ["authz.result", "exchanged minted refused unavailable"],
  ["authz.pop_failure_cause", popCauses],
  ["authz.pep.mode", "enforcing observing"],
  ["authz.pep.outcome", "allowed blocked observed_would_block"],
  ["authz.pep.block_cause", blockCauses],
  ["authz.agent_ref", "pseudonym"],
  ["authz.act_chain_ref", "pseudonym"],
  ["authz.taint_source_ref", "pseudonym"],
  ["authz.agent", "plaintext"],
  ["authz.act_chain", "plaintext"],
  ["authz.taint_source", "plaintext"],
  ["error.type", "error_type"],
  ["http.request.method", "http_method"],
  ["http.response.status_code", "http_status"],
];

const asText = (kinds: Record<string, string | readonly string[]>) =>
  Object.entries(kinds).map(([key, kind]) => [key, typeof kind === "string" ? kind : kind.join(" ")]);

test("the span attributes are the rows of the reference", () => {
  expect(asText(spanAttributes)).toEqual(attributeRows);
});

test("the log fields are the rows of the reference, and the ids of the span", () => {
  expect(asText(logFields)).toEqual([
    ["authz.component", "control_plane pep verifier cli"],
    ["authz.session_id", "uuid"],
    ["authz.action_id", "uuid"],
    ["authz.hop", "ordinal"],
    ["error.type", "error_type"],
    ["trace_id", "trace_id"],
    ["span_id", "span_id"],
  ]);
  expect(components).toEqual(["control_plane", "pep", "verifier", "cli"]);
});

test("blocks that page or need investigation are logged at WARNING; other blocks at INFO", () => {
  expect(blockLogLevels).toEqual({
    policy: "info",
    pdp_unreachable: "warn",
    exchange_unreachable: "warn",
    mint_unreachable: "warn",
    audit_unavailable: "warn",
    unauthorized: "info",
    unresolvable_call: "info",
    body_too_large: "info",
    unbindable: "info",
    other: "warn",
  });
});

test("pseudonyms have three kinds", () => {
  expect(pseudonymKinds).toEqual(["agent", "act_chain", "taint_source"]);
});
