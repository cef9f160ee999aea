import { type DenyReason, isRecoverable } from "@svc/core";
import { type HopLines, hopsPath } from "./hop-lines.ts";
import type { HopsOffer } from "./hops-offer.ts";
import type { Lease, LeaseFault, LeaseResult } from "./pool/lease.ts";
import type { RenewalPool } from "./pool/renewal-pool.ts";
import {
  type Allowed,
  type DecideRequest,
  type DecideResult,
  type Decision,
  type Denied,
  decide,
} from "./steps/decide.ts";
import { type ExchangeResult, exchange, type NarrowedToken } from "./steps/exchange.ts";
import { type MintResult, mint } from "./steps/mint.ts";
import { type ErrorResponse, isUnspentAfter, recordedIn } from "./steps/send.ts";
import type { HopCredential, StepOptions, StepPorts } from "./steps/step.ts";
import { take } from "./steps/take.ts";

export interface HopPorts {
  readonly steps: StepPorts;
  /** Decides and exchanges in one trip, where the control plane offers that. */
  readonly lines?: { readonly offer: HopsOffer; readonly hops: HopLines };
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
  /** Nothing is learnt any more before the call's body ends: it is absent, or was read whole. */
  readonly bodySettled: boolean;
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
  /** `path`: the route that gave no usable answer, where it is not the step's own. */
  | (LeaseFault & { readonly step: HopStep; readonly decision?: Allowed; readonly path?: string });

export type HopResult<Refusal> =
  | HopTaken
  | { readonly kind: "body_refused"; readonly decision: Allowed; readonly refusal: Refusal }
  | HopFailure;

/**
 * Lease, decide, settle the body, exchange, mint (docs/reference/enforcement-point.md#steps-of-a-call). Nothing is
 * exchanged for a call whose body is refused, and what was learnt while the body was read cannot pass the exchange. A
 * settled call is exchanged with its decision.
 */
export async function takeHop<Refusal>(
  ports: HopPorts,
  hop: Hop,
  settleBody: (decision: Allowed) => Promise<SettledBody<Refusal>>,
): Promise<HopResult<Refusal>> {
  const { steps, pool } = ports;
  const step = stepsWithin(ports, hop);
  const leased = await step((options) => pool.leaseToDecide(hop.credential, options));
  if (leased.kind !== "leased") return { ...leased, step: "lease" };
  const { lease } = leased;
  const taken = await givenBackIfThrown(lease, () => takeSettled(ports, hop, lease, step));
  if (taken?.kind === "taken") {
    const body = await settleBody(taken.decision);
    if (body.kind === "refused") return { kind: "body_refused", decision: taken.decision, refusal: body.refusal };
    return withIdentity(ports, hop, taken);
  }
  const allowed = taken ?? (await decideWith(ports, hop, lease, step));
  if (allowed.kind !== "allowed") return allowed;
  const { decision } = allowed;

  const body = await givenBackIfThrown(lease, () => settleBody(decision));
  if (body.kind === "refused") {
    lease.giveBack();
    return { kind: "body_refused", decision, refusal: body.refusal };
  }
  const exchanged = await exchangeFor(ports, hop, allowed, step);
  if (exchanged.kind !== "exchanged") return exchanged;

  const { token } = exchanged;
  const { paramsJson } = body;
  const { actionId } = decision;
  const narrowed = { sessionId: hop.credential.sessionId, token: token.accessToken };
  const minted =
    paramsJson !== undefined &&
    (await step((options) => mint(steps, narrowed, { actionId, target: hop.call.target, paramsJson }, options)));
  if (minted && minted.kind !== "minted") return failedAt("mint", minted, decision);
  const { transactionToken } = minted || {};
  return withIdentity(ports, hop, { decision, token, ...(transactionToken !== undefined && { transactionToken }) });
}

async function withIdentity({ assertIdentity }: HopPorts, { call }: Hop, taken: Omit<HopTaken, "kind">) {
  const identityAssertion = await assertIdentity?.(taken.token.accessToken, call.target);
  return { ...taken, kind: "taken", ...(identityAssertion !== undefined && { identityAssertion }) } as const;
}

/** In one trip. Undefined where that is not offered, or where the token is not to be spent. */
async function takeSettled(
  { lines, steps, limits }: HopPorts,
  { credential, call, enforced, bodySettled }: Hop,
  lease: Lease,
  step: RunStep,
): Promise<Omit<HopTaken, "identityAssertion"> | LeasedAllow | HopFailure | undefined> {
  if (lines === undefined || !lease.maySpend || !(await lines.offer.holds(limits.stepMs))) return undefined;
  const subject = { sessionId: credential.sessionId, token: lease.token };
  const taken = await step((options) => take(steps, lines.hops, subject, { ...call, enforced, bodySettled }, options));
  switch (taken.kind) {
    case "taken":
      lease.replace(taken.sibling);
      return { kind: "taken", decision: taken.decision, token: taken.token };
    case "decided":
      return decidedWith(lease, taken.decision);
    case "undecided":
      if (isNoSuchRoute(taken.result)) {
        lines.offer.withdrawn();
        return undefined;
      }
      return unansweredIn(taken.result) ?? undecided(lease, taken.result);
    case "untaken":
      if (isUnspent(taken.result)) lease.giveBack();
      return failedAt("exchange", taken.result, taken.decision);
  }
}

/** Sent, and perhaps spent: a fault of a store leaves open what was committed, and a refusal does not. */
function unansweredIn(result: Undecided): HopFailure | undefined {
  if (result.kind === "audit_unavailable") return { ...result, step: "decide" };
  if (result.kind === "unauthorized" || (isUnspentAfter(result) && (result.response?.status ?? 0) < 500))
    return undefined;
  return { ...result, step: "exchange", path: hopsPath };
}

const isNoSuchRoute = (result: Undecided): boolean =>
  result.kind === "unusable" && result.response?.code === "route_not_found";

/** The token of the decision, or one in its place where that is not to be spent. */
async function exchangeFor(
  { pool, steps }: HopPorts,
  { credential, call }: Hop,
  { lease: decidedWith, decision }: LeasedAllow,
  step: RunStep,
) {
  if (!decidedWith.maySpend) decidedWith.giveBack();
  const leased = decidedWith.maySpend
    ? ({ kind: "leased", lease: decidedWith } as const)
    : await step((options) => pool.lease(credential, options));
  if (leased.kind !== "leased") return { ...leased, step: "lease", decision } as const;
  const { lease } = leased;
  const { target, dataClass, taint } = call;
  const request = { target, dataClass, actionId: decision.actionId, ...(taint && { taint }) };
  const subject = { sessionId: credential.sessionId, token: lease.token };
  // It throws only where nothing was sent: the actor proof could not be signed.
  const exchanged = await givenBackIfThrown(lease, () => step((options) => exchange(steps, subject, request, options)));
  if (exchanged.kind === "exchanged") return exchanged;
  if (isUnspent(exchanged)) lease.giveBack();
  return failedAt("exchange", exchanged, decision);
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
function stepsWithin(
  { limits, steps }: HopPorts,
  { credential, call, enforced, bodySettled, ...options }: Hop,
): RunStep {
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

async function leaseAndDecide(ports: HopPorts, hop: Hop, step: RunStep): Promise<LeasedAllow | HopFailure> {
  const leased: LeaseResult = await step((options) => ports.pool.leaseToDecide(hop.credential, options));
  return leased.kind === "leased" ? decideWith(ports, hop, leased.lease, step) : { ...leased, step: "lease" };
}

async function decideWith(
  { steps }: HopPorts,
  { credential, call, enforced }: Hop,
  lease: Lease,
  step: RunStep,
): Promise<LeasedAllow | HopFailure> {
  const subject = { sessionId: credential.sessionId, token: lease.token };
  const decided = await givenBackIfThrown(lease, () =>
    step((options) => decide(steps, subject, { ...call, enforced }, options)),
  );
  return decided.kind === "decided" ? decidedWith(lease, decided.decision) : undecided(lease, decided);
}

function decidedWith(lease: Lease, decision: Decision): LeasedAllow | HopFailure {
  if (decision.outcome === "allow") return { kind: "allowed", lease, decision };
  lease.giveBack();
  return { kind: "denied", step: "decide", decision };
}

type Undecided = Exclude<DecideResult, { readonly kind: "decided" }>;

/** Nothing was spent. */
function undecided(lease: Lease, result: Undecided): HopFailure {
  // Only the control plane's own 401 says that the token is of no further use.
  if (result.kind === "unauthorized" && result.response.code === "unauthorized") lease.reject();
  else lease.giveBack();
  return { ...result, step: "decide" };
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
