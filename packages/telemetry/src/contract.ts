/**
 * The telemetry surface, whole (docs/reference/telemetry.md#rules). Nothing outside these tables is emitted:
 * names, labels and values that are not here do not compile, and are dropped at run time.
 */
import {
  type BlockCause,
  blockCauses,
  denyReasons,
  guaranteeLevels,
  outcomes,
  pepOutcomes,
  popFailureCauses,
  taints,
  targetKinds,
} from "@svc/core";
import type { ValueKind } from "./value-kind.ts";

/** Who emits metrics. The verifier and the drift gate hand theirs to a sink and a file. */
export const emitters = ["control_plane", "pep", "verifier", "drift"] as const;
export type Emitter = (typeof emitters)[number];

/** `authz.component` of a log line. */
export const components = ["control_plane", "pep", "verifier", "cli"] as const;
export type Component = (typeof components)[number];

export const pepModes = ["enforcing", "observing"] as const;
export const pepStages = ["decide", "exchange", "mint", "upstream"] as const;
export const traceContextCauses = ["malformed", "absent", "baggage_dropped"] as const;
export const telemetrySignals = ["span", "log"] as const;
export const chainQueryResults = ["complete", "broken", "not_found"] as const;
export const mintResults = ["minted", "refused"] as const;
export const enrollmentStatuses = ["enrolled", "quarantined"] as const;
export const refusalStages = ["decide", "exchange"] as const;
export const driftResults = ["pass", "drift", "error"] as const;
export const admissionResults = ["admitted", "refused"] as const;
export const transactionRejectionCauses = [
  "transaction_missing",
  "transaction_invalid",
  "params_mismatch",
  "replayed",
] as const;

/** What became of an exchange or a mint. `unavailable`: a store could not be reached and nothing was issued. */
export const hopResults = ["exchanged", "minted", "refused", "unavailable"] as const;

/**
 * A label's closed list of values, or `"release"`: the one version of the running build, which the emitter fills in.
 */
type LabelValues = readonly string[] | "release";

export interface MetricSpec {
  readonly type: "counter" | "gauge" | "histogram";
  readonly emittedBy: readonly Emitter[];
  readonly labels: Readonly<Record<string, LabelValues>>;
  readonly help: string;
}

const controlPlane = ["control_plane"] as const;
const pep = ["pep"] as const;
const bothApps = ["control_plane", "pep"] as const;
const verifier = ["verifier"] as const;
const drift = ["drift"] as const;

export const metrics = {
  svc_pep_calls_total: {
    type: "counter",
    emittedBy: pep,
    labels: { outcome: pepOutcomes },
    help: "Proxied calls by what the enforcement point did.",
  },
  svc_pep_blocks_total: {
    type: "counter",
    emittedBy: pep,
    labels: { cause: blockCauses },
    help: "Blocked calls by cause.",
  },
  svc_pep_stage_duration_seconds: {
    type: "histogram",
    emittedBy: pep,
    labels: { stage: pepStages },
    help: "Time per hop by stage.",
  },
  svc_pep_overhead_seconds: {
    type: "histogram",
    emittedBy: pep,
    labels: {},
    help: "Time added by the guardrail: total minus upstream.",
  },
  svc_pep_up: { type: "gauge", emittedBy: pep, labels: {}, help: "1 while the enforcement point serves." },
  svc_pep_info: {
    type: "gauge",
    emittedBy: pep,
    labels: { mode: pepModes, version: "release" },
    help: "Always 1; mode is enforcing when every upstream is enforced.",
  },

  svc_trace_context_rejected_total: {
    type: "counter",
    emittedBy: bothApps,
    labels: { cause: traceContextCauses },
    help: "Inbound trace context that was not used, by cause.",
  },
  svc_telemetry_dropped_total: {
    type: "counter",
    emittedBy: bothApps,
    labels: { signal: telemetrySignals },
    help: "Spans and log lines lost.",
  },
  svc_telemetry_identity_disclosure: {
    type: "gauge",
    emittedBy: bothApps,
    labels: {},
    help: "1 when full identities are exported.",
  },

  svc_decisions: {
    type: "counter",
    emittedBy: controlPlane,
    labels: { outcome: outcomes },
    help: "Recorded decisions by outcome.",
  },
  svc_denials: {
    type: "counter",
    emittedBy: controlPlane,
    labels: { reason: denyReasons },
    help: "Recorded denies by reason.",
  },
  svc_audit_write_failures: {
    type: "counter",
    emittedBy: controlPlane,
    labels: {},
    help: "Audit records that could not be committed.",
  },
  svc_chain_writes: { type: "counter", emittedBy: controlPlane, labels: {}, help: "Audit chain records committed." },
  svc_chain_queries: {
    type: "counter",
    emittedBy: controlPlane,
    labels: { result: chainQueryResults },
    help: "Chain reads by result.",
  },
  svc_chain_query_duration_seconds: {
    type: "histogram",
    emittedBy: controlPlane,
    labels: {},
    help: "Time to read a chain.",
  },
  svc_taint_blocks: { type: "counter", emittedBy: controlPlane, labels: {}, help: "Decisions denied for taint." },
  svc_taint_marks: { type: "counter", emittedBy: controlPlane, labels: {}, help: "Taint marks set." },
  svc_transaction_mints: {
    type: "counter",
    emittedBy: controlPlane,
    labels: { result: mintResults },
    help: "Transaction tokens asked for, by result.",
  },
  svc_enrollments: {
    type: "counter",
    emittedBy: controlPlane,
    labels: { status: enrollmentStatuses },
    help: "Completed enrollments by status.",
  },
  svc_revocations: { type: "counter", emittedBy: controlPlane, labels: {}, help: "Agents revoked." },
  svc_revoked_hop_refusals: {
    type: "counter",
    emittedBy: controlPlane,
    labels: { stage: refusalStages },
    help: "Decisions and exchanges denied with AGENT_REVOKED: for an agent of the chain, the target, or the lenders at hop 1.",
  },
  svc_exchange_pop_failures: {
    type: "counter",
    emittedBy: controlPlane,
    labels: { cause: popFailureCauses },
    help: "Actor proofs of possession that failed, by cause.",
  },

  svc_drift_runs: {
    type: "counter",
    emittedBy: drift,
    labels: { result: driftResults },
    help: "Drift checks by result.",
  },
  svc_drift_undeclared_edges: {
    type: "gauge",
    emittedBy: drift,
    labels: {},
    help: "Recorded edges that no manifest declares.",
  },
  svc_drift_unexercised_edges: {
    type: "gauge",
    emittedBy: drift,
    labels: {},
    help: "Declared edges that no run exercised.",
  },
  svc_drift_lost_events: { type: "gauge", emittedBy: drift, labels: {}, help: "Edge events missing from the traces." },

  svc_admissions: {
    type: "counter",
    emittedBy: verifier,
    labels: { result: admissionResults },
    help: "Offline admissions by result.",
  },
  svc_transaction_rejections: {
    type: "counter",
    emittedBy: verifier,
    labels: { cause: transactionRejectionCauses },
    help: "Transaction tokens refused by the verifier, by cause.",
  },
  svc_identity_view_age_seconds: {
    type: "gauge",
    emittedBy: verifier,
    labels: {},
    help: "Age of the verifier's view of identities.",
  },
} as const satisfies Record<`svc_${string}`, MetricSpec>;

/** Span name to the one component that emits it. */
export const spans = {
  "authz.decide": "control_plane",
  "authz.exchange": "control_plane",
  "authz.transaction.mint": "control_plane",
  "pep.forward": "pep",
  "verify.admit": "verifier",
} as const satisfies Record<string, Component>;

export const spanAttributes = {
  "authz.action_id": "uuid",
  "authz.session_id": "uuid",
  "authz.hop": "ordinal",
  "authz.outcome": outcomes,
  "authz.deny_reason": denyReasons,
  "authz.recoverable": "boolean",
  "authz.enforced": "boolean",
  "authz.target_kind": targetKinds,
  "authz.data_class": "data_class",
  "authz.privileged": "boolean",
  "authz.taint": taints,
  "authz.policy_version": "integer",
  "authz.guarantee_level": guaranteeLevels,
  "authz.result": hopResults,
  "authz.pop_failure_cause": popFailureCauses,
  "authz.pep.mode": pepModes,
  "authz.pep.outcome": pepOutcomes,
  "authz.pep.block_cause": blockCauses,
  "authz.agent_ref": "pseudonym",
  "authz.act_chain_ref": "pseudonym",
  "authz.taint_source_ref": "pseudonym",
  "authz.agent": "plaintext",
  "authz.act_chain": "plaintext",
  "authz.taint_source": "plaintext",
  "error.type": "error_type",
  "http.request.method": "http_method",
  "http.response.status_code": "http_status",
} as const satisfies Record<string, ValueKind>;

/** Beside `level`, `time` and `msg`. */
export const logFields = {
  "authz.component": components,
  "authz.session_id": "uuid",
  "authz.action_id": "uuid",
  "authz.hop": "ordinal",
  "error.type": "error_type",
  trace_id: "trace_id",
  span_id: "span_id",
} as const satisfies Record<string, ValueKind>;

/** Ordinary refusals are INFO, a guardrail failure that needs a human WARNING or above; a deny is never an error. */
export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal"] as const;
export type LogLevel = (typeof logLevels)[number];

/** The level of a block's log line: WARNING where the cause table pages, or asks to investigate. */
export const blockLogLevels = {
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
} as const satisfies Record<BlockCause, LogLevel>;

/** What pseudonyms are made of (docs/reference/telemetry.md#trace-context). */
export const pseudonymKinds = ["agent", "act_chain", "taint_source"] as const;
export type PseudonymKind = (typeof pseudonymKinds)[number];
