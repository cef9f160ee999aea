import type { Taint, TargetKind } from "@svc/core";

/** Why an admission is refused (docs/reference/verifier.md#admission). */
export const refusalCauses = [
  "missing_token",
  "malformed",
  "type",
  "signature",
  "issuer",
  "audience",
  "expired",
  "session_mismatch",
  "data_class",
  "revoked",
  "stale_identity_view",
  "identity_missing",
  "identity_invalid",
  "transaction_missing",
  "transaction_invalid",
  "params_mismatch",
  "replayed",
] as const;
/** One of `refusalCauses`. */
export type RefusalCause = (typeof refusalCauses)[number];

/** The causes of `svc_transaction_rejections`. */
export const transactionRejectionCauses = [
  "transaction_missing",
  "transaction_invalid",
  "params_mismatch",
  "replayed",
] as const satisfies readonly RefusalCause[];
/** One of `transactionRejectionCauses`. */
export type TransactionRejectionCause = (typeof transactionRejectionCauses)[number];

export const isTransactionRejection = (cause: RefusalCause): cause is TransactionRejectionCause =>
  (transactionRejectionCauses as readonly RefusalCause[]).includes(cause);

/** The call is not admitted. The message contains the cause and nothing of the tokens. */
export class AdmissionRefused extends Error {
  override readonly name = "AdmissionRefused";
  override readonly cause: RefusalCause;

  constructor(cause: RefusalCause) {
    super(`not admitted: ${cause}`);
    this.cause = cause;
  }
}

/** The verified facts of an admitted call. */
export interface Admission {
  /** The consenting human. */
  readonly sub: string;
  /** The caller: the last agent of the chain, or the human at hop 1. */
  readonly caller: string;
  /** [human, first delegate, ..., this audience]. */
  readonly actChain: readonly string[];
  readonly hop: number;
  readonly audience: string;
  readonly targetKind: TargetKind;
  /** The data class of the token; it covers that of the request. */
  readonly dataClass: string;
  readonly sessionId: string;
  /** The recorded decision. */
  readonly actionId: string;
  readonly policyVersion: number;
  readonly taint: Taint;
  readonly privileged: boolean;
  /** The agent whose key signed `Agent-Identity`; null where none was sent or identities are not read. */
  readonly agent: string | null;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
}
