import { isRecoverable } from "@svc/core";
import type { HopFailure, LeasedAllow, RecordedDeny } from "./hop.ts";
import type { Lease } from "./pool/lease.ts";
import type { Allowed, DecideResult, Decision } from "./steps/decide.ts";
import type { ExchangeResult } from "./steps/exchange.ts";
import type { MintResult } from "./steps/mint.ts";
import { isUnspentAfter, recordedIn } from "./steps/send.ts";

export type Undecided = Exclude<DecideResult, { readonly kind: "decided" }>;
type Unexchanged = Exclude<ExchangeResult, { readonly kind: "exchanged" }>;
type Unminted = Exclude<MintResult, { readonly kind: "minted" }>;

/** A deny leaves its token unspent. */
export function decidedWith(lease: Lease, decision: Decision): LeasedAllow | HopFailure {
  if (decision.outcome === "allow") return { kind: "allowed", lease, decision };
  lease.giveBack();
  return { kind: "denied", step: "decide", decision };
}

/** Nothing was spent. */
export function undecided(lease: Lease, result: Undecided): HopFailure {
  // Only the control plane's own 401 says that the token is of no further use.
  if (result.kind === "unauthorized" && result.response.code === "unauthorized") lease.reject();
  else lease.giveBack();
  return { ...result, step: "decide" };
}

/** A refusal spends nothing but for a spent token's, nor does a request that was never sent; anything else may have. */
export function exchangeFailed(lease: Lease, failed: Unexchanged, allowed: Allowed): HopFailure {
  if (isUnspent(failed)) lease.giveBack();
  return failedAt("exchange", failed, allowed);
}

const isUnspent = (failed: Unexchanged): boolean => {
  if (failed.kind === "unauthorized") return failed.response.code === "invalid_request";
  return failed.kind === "denied" || isUnspentAfter(failed);
};

/** A deny replaces the allow before it: that one's id would name a call that was allowed. */
export function failedAt(step: "exchange" | "mint", failed: Unexchanged | Unminted, allowed: Allowed): HopFailure {
  if (failed.kind !== "denied") return { ...failed, step, decision: allowed };
  const { denyReason, response } = failed;
  const decision: RecordedDeny = {
    ...allowed,
    ...(denyReason === "TAINT_BLOCKED" && risenTaint(allowed)),
    outcome: "deny",
    actionId: recordedIn(response),
    denyReason,
    recoverable: denyReason !== null && isRecoverable(denyReason),
    consentableScopes: [],
  };
  return { kind: "denied", step, decision, response };
}

/** Taint only rises, and a later deny does not name its source. */
const risenTaint = ({ taint, taintSource }: Allowed): Pick<Allowed, "taint" | "taintSource"> => ({
  taint: "untrusted_external",
  taintSource: taint === "untrusted_external" ? taintSource : null,
});
