import { type DenyReason, isRecoverable } from "@svc/core";
import type { Lease, LeaseFault, LeaseResult } from "./pool/lease.ts";
import type { RenewalPool } from "./pool/renewal-pool.ts";
import { type Allowed, type DecideRequest, type Denied, decide } from "./steps/decide.ts";
import { type ExchangeResult, exchange, type NarrowedToken } from "./steps/exchange.ts";
import { type MintResult, mint } from "./steps/mint.ts";
import { type ErrorResponse, isUnspentAfter, recordedIn } from "./steps/send.ts";
import type { HopCredential, StepOptions, StepPorts } from "./steps/step.ts";

export interface HopPorts {
  readonly steps: StepPorts;
  readonly pool: RenewalPool;
  /** Present where an agent key is held: signs the `Agent-Identity` header for a target. */
  readonly assertIdentity?: (accessToken: string, target: string) => Promise<string>;
  readonly limits: {
    /** Milliseconds for the lease, the decision, the exchange and the mint each. */
    readonly stepMs: number;
    /** Milliseconds for all of them; the time in which the caller settles the body does not count. */
    readonly hopMs: number;
  };
}

/** One call, before it is decided. */
export interface Hop extends Omit<StepOptions, "deadlineMs"> {
  /** As presented; the hop is taken with a sibling of its token. */
  readonly credential: HopCredential;
  readonly call: Omit<DecideRequest, "enforced">;
  /** False in observe mode: it marks the record and never changes the decision. */
  readonly enforced: boolean;
}

/** What the caller made of the request body once the call was allowed, before anything is spent. */
export type SettledBody<Refusal> =
  /** `paramsJson`: the JSON object that the transaction token binds; given for a privileged call. */
  { readonly kind: "ready"; readonly paramsJson?: string } | { readonly kind: "refused"; readonly refusal: Refusal };

export interface HopTaken {
  readonly kind: "taken";
  readonly decision: Allowed;
  readonly token: NarrowedToken;
  readonly transactionToken?: string;
  readonly identityAssertion?: string;
}

export type HopStep = "lease" | "decide" | "exchange" | "mint";

/** The deny that was recorded. At the exchange and the mint it has an id and a reason only where the response names them. */
export type RecordedDeny = Omit<Denied, "actionId" | "denyReason"> & {
  readonly actionId: string | null;
  readonly denyReason: DenyReason | null;
};

/** Why a hop ended without a token, at which step, and the recorded decision where there is one. */
export type HopFailure =
  | {
      readonly kind: "denied";
      readonly step: Exclude<HopStep, "lease">;
      readonly decision: RecordedDeny;
      readonly response?: ErrorResponse;
    }
  /** The presented token, or at the exchange its sibling or the allow, is spent, expired or refused. */
  | {
      readonly kind: "unauthorized";
      readonly step: HopStep;
      readonly decision?: Allowed;
      readonly response?: ErrorResponse;
    }
  | { readonly kind: "audit_unavailable"; readonly step: "decide"; readonly response: ErrorResponse }
  | (LeaseFault & { readonly step: HopStep; readonly decision?: Allowed });

export type HopResult<Refusal> =
  | HopTaken
  | { readonly kind: "body_refused"; readonly decision: Allowed; readonly refusal: Refusal }
  | HopFailure;

/**
 * Lease, decide, settle the body, exchange, mint (docs/reference/enforcement-point.md#steps-of-a-call). Nothing is
 * exchanged for a call whose body is refused, and what was learnt while the body was read cannot pass the exchange.
 */
export async function takeHop<Refusal>(
  ports: HopPorts,
  hop: Hop,
  settleBody: (decision: Allowed) => Promise<SettledBody<Refusal>>,
): Promise<HopResult<Refusal>> {
  const { steps, assertIdentity } = ports;
  const { sessionId } = hop.credential;
  const step = stepsWithin(ports, hop);

  const allowed = await leaseAndDecide(ports, hop, step);
  if (allowed.kind !== "allowed") return allowed;
  const { decision } = allowed;

  const body = await givenBackIfThrown(allowed.lease, () => settleBody(decision));
  if (body.kind === "refused") {
    allowed.lease.giveBack();
    return { kind: "body_refused", decision, refusal: body.refusal };
  }

  const leased = await leaseToSpend(ports, hop, allowed.lease, step);
  if (leased.kind !== "leased") return { ...leased, step: "lease", decision };
  const { lease } = leased;
  const { target, dataClass, taint } = hop.call;
  const { actionId } = decision;
  const exchangeRequest = { target, dataClass, actionId, ...(taint && { taint }) };
  const subject = { sessionId, token: lease.token };
  // It throws only where nothing was sent: the actor proof could not be signed.
  const exchanged = await givenBackIfThrown(lease, () =>
    step((options) => exchange(steps, subject, exchangeRequest, options)),
  );
  if (exchanged.kind !== "exchanged") {
    if (isUnspent(exchanged)) lease.giveBack();
    return failedAt("exchange", exchanged, decision);
  }
  const { token } = exchanged;

  const { paramsJson } = body;
  const narrowed = { sessionId, token: token.accessToken };
  const minted =
    paramsJson !== undefined &&
    (await step((options) => mint(steps, narrowed, { actionId, target, paramsJson }, options)));
  if (minted && minted.kind !== "minted") return failedAt("mint", minted, decision);
  const identityAssertion = await assertIdentity?.(token.accessToken, target);
  return {
    kind: "taken",
    decision,
    token,
    ...(minted && { transactionToken: minted.transactionToken }),
    ...(identityAssertion !== undefined && { identityAssertion }),
  };
}

/**
 * Decides again on a call under way (docs/reference/enforcement-point.md#steps-of-a-call). The decision is recorded and
 * nothing is spent. An allow returns the token that was decided on: its expiry bounds the session's.
 */
export async function decideAgain(
  ports: HopPorts,
  { onStage, ...hop }: Hop,
): Promise<{ readonly kind: "allowed"; readonly token: string } | HopFailure> {
  const result = await leaseAndDecide(ports, hop, stepsWithin(ports, hop));
  if (result.kind !== "allowed") return result;
  result.lease.giveBack();
  return { kind: "allowed", token: result.lease.token };
}

type RunStep = <T>(run: (options: StepOptions) => Promise<T>) => Promise<T>;

/** Gives each step its own time and what is left of the whole. */
function stepsWithin({ limits, steps }: HopPorts, { credential, call, enforced, ...options }: Hop): RunStep {
  let leftMs = limits.hopMs;
  return async (run) => {
    const startedMs = steps.monotonicMs();
    try {
      return await run({ ...options, deadlineMs: Math.max(0, Math.min(limits.stepMs, leftMs)) });
    } finally {
      leftMs -= steps.monotonicMs() - startedMs;
    }
  };
}

type LeasedAllow = { readonly kind: "allowed"; readonly lease: Lease; readonly decision: Allowed };

async function leaseAndDecide(
  { pool, steps }: HopPorts,
  { credential, call, enforced }: Hop,
  step: RunStep,
): Promise<LeasedAllow | HopFailure> {
  const leased: LeaseResult = await step((options) => pool.leaseToDecide(credential, options));
  if (leased.kind !== "leased") return { ...leased, step: "lease" };
  const { lease } = leased;
  const subject = { sessionId: credential.sessionId, token: lease.token };
  const decided = await givenBackIfThrown(lease, () =>
    step((options) => decide(steps, subject, { ...call, enforced }, options)),
  );
  if (decided.kind !== "decided") {
    // A decision spends nothing. Only the control plane's own 401 says that the token is of no further use.
    if (decided.kind === "unauthorized" && decided.response.code === "unauthorized") lease.reject();
    else lease.giveBack();
    return { ...decided, step: "decide" };
  }
  const { decision } = decided;
  if (decision.outcome === "allow") return { kind: "allowed", lease, decision };
  lease.giveBack();
  return { kind: "denied", step: "decide", decision };
}

type Failed<Result, Success> = Exclude<Result, { readonly kind: Success }>;

/** A deny replaces the allow before it: that one's id would name a call that was allowed. */
function failedAt<Step extends "exchange" | "mint">(
  step: Step,
  failed: Failed<ExchangeResult, "exchanged"> | Failed<MintResult, "minted">,
  allowed: Allowed,
) {
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
  return { kind: "denied", step, decision, response } as const;
}

/** Taint only rises, and a later deny does not name its source. */
const risenTaint = ({ taint, taintSource }: Allowed): Pick<Allowed, "taint" | "taintSource"> => ({
  taint: "untrusted_external",
  taintSource: taint === "untrusted_external" ? taintSource : null,
});

/** The token of the decision, or one in its place where that is not to be spent. */
async function leaseToSpend({ pool }: HopPorts, { credential }: Hop, decidedWith: Lease, step: RunStep) {
  if (decidedWith.maySpend) return { kind: "leased", lease: decidedWith } as const;
  decidedWith.giveBack();
  return step((options) => pool.lease(credential, options));
}

async function givenBackIfThrown<T>(lease: Lease, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    lease.giveBack();
    throw error;
  }
}

/** A refusal spends nothing but for a spent token's, nor does a request that was never sent; anything else may have. */
const isUnspent = (failed: Failed<ExchangeResult, "exchanged">): boolean => {
  if (failed.kind === "unauthorized") return failed.response.code === "invalid_request";
  return failed.kind === "denied" || isUnspentAfter(failed);
};
