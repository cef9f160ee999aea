import type { NarrowedClaims } from "@svc/tokens";
import { type Admission, AdmissionRefused, isTransactionRejection } from "./admission.ts";
import type { VerifierPorts } from "./ports.ts";
import type { AdmitAttributes, VerifierSink } from "./sink.ts";

/** Emits the span and counts of one admission, and logs a refusal (docs/reference/verifier.md#telemetry). */
export async function observed(
  sink: Required<VerifierSink>,
  { now, monotonicMs }: Pick<VerifierPorts, "now" | "monotonicMs">,
  admitting: (onVerified: (claims: NarrowedClaims) => void) => Promise<Admission>,
): Promise<Admission> {
  const startedAtMs = now();
  const startedMs = monotonicMs();
  let attributes: AdmitAttributes = {};
  try {
    const admission = await admitting((claims) => {
      attributes = attributesOf(claims);
    });
    sink.count("svc_admissions", { result: "admitted" });
    return admission;
  } catch (error) {
    attributes = { ...attributes, "error.type": error instanceof Error ? error.name : "Error" };
    report(sink, error, attributes);
    throw error;
  } finally {
    sink.span({ name: "verify.admit", startedAtMs, durationMs: monotonicMs() - startedMs, attributes });
  }
}

const attributesOf = (claims: NarrowedClaims): AdmitAttributes => ({
  "authz.action_id": claims.actionId,
  "authz.session_id": claims.sessionId,
  "authz.hop": claims.hop,
  "authz.target_kind": claims.targetKind,
  "authz.data_class": claims.scope,
  "authz.privileged": claims.privileged,
  "authz.taint": claims.taint,
  "authz.policy_version": claims.policyVersion,
});

function report(sink: Required<VerifierSink>, error: unknown, attributes: AdmitAttributes): void {
  sink.count("svc_admissions", { result: "refused" });
  const cause = error instanceof AdmissionRefused ? error.cause : undefined;
  if (cause && isTransactionRejection(cause)) sink.count("svc_transaction_rejections", { cause });
  // A refusal concerns the caller; a stale view and a failing store concern the operator.
  const needsHuman = cause === undefined || cause === "stale_identity_view";
  const logged = ["authz.action_id", "authz.session_id", "authz.hop", "error.type"] as const;
  sink.log({
    level: needsHuman ? "warn" : "info",
    message: "admission refused",
    fields: {
      "authz.component": "verifier",
      ...Object.fromEntries(logged.flatMap((key) => (attributes[key] === undefined ? [] : [[key, attributes[key]]]))),
    },
  });
}
