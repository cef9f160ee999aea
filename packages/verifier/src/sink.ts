import type { Taint, TargetKind } from "@svc/core";
import type { TransactionRejectionCause } from "./admission.ts";

/** Attributes of `verify.admit`, of a verified token only (docs/reference/telemetry.md#span-attributes). */
export interface AdmitAttributes {
  readonly "authz.action_id"?: string;
  readonly "authz.session_id"?: string;
  readonly "authz.hop"?: number;
  readonly "authz.target_kind"?: TargetKind;
  readonly "authz.data_class"?: string;
  readonly "authz.privileged"?: boolean;
  readonly "authz.taint"?: Taint;
  readonly "authz.policy_version"?: number;
  readonly "error.type"?: string;
}

/** One admission, as a span (docs/reference/telemetry.md#spans). */
export interface AdmitSpan {
  readonly name: "verify.admit";
  /** Milliseconds since the epoch. */
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly attributes: AdmitAttributes;
}

/** One log record (docs/reference/telemetry.md#log-lines). */
export interface VerifierLogRecord {
  readonly level: "info" | "warn";
  /** Static; identifiers are in `fields`. */
  readonly message: "admission refused" | "issuer keys not refreshed" | "identity view not refreshed";
  readonly fields: Pick<AdmitAttributes, "authz.action_id" | "authz.session_id" | "authz.hop" | "error.type"> & {
    readonly "authz.component": "verifier";
  };
}

/** One count with its labels (docs/reference/telemetry.md#metrics). */
export type CounterSample =
  | readonly [name: "svc_admissions", labels: { readonly result: "admitted" | "refused" }]
  | readonly [name: "svc_transaction_rejections", labels: { readonly cause: TransactionRejectionCause }];

/** Receives the verifier's telemetry (docs/reference/verifier.md#telemetry). It cannot change an admission. */
export interface VerifierSink {
  count?(...sample: CounterSample): void;
  gauge?(name: "svc_identity_view_age_seconds", value: number): void;
  span?(span: AdmitSpan): void;
  log?(record: VerifierLogRecord): void;
}

/** A failing sink must neither refuse nor admit a call. */
export function neverThrowing(sink: VerifierSink): Required<VerifierSink> {
  const swallowing = (emit: () => void) => {
    try {
      emit();
    } catch {}
  };
  return {
    count: (...sample) => swallowing(() => sink.count?.(...sample)),
    gauge: (name, value) => swallowing(() => sink.gauge?.(name, value)),
    span: (span) => swallowing(() => sink.span?.(span)),
    log: (record) => swallowing(() => sink.log?.(record)),
  };
}
