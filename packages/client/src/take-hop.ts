import { type DenyReason, isRecoverable } from "@svc/core";
import {
  type AgentProver,
  type Allowed,
  type Answer,
  type DecideRequest,
  type DecideResult,
  type Decision,
  decide,
  exchange,
  type Lease,
  type LeaseResult,
  mint,
  type NarrowedToken,
  type RenewalPool,
  type StepOptions,
  type StepPorts,
} from "@svc/hop";
import type { EdgeLog } from "./edge-log.ts";
import {
  type Asked,
  ControlPlaneRejected,
  ControlPlaneUnavailable,
  PolicyDenied,
  TransactionParamsRequired,
} from "./errors.ts";
import { type Grant, toGrant } from "./grant.ts";
import type { HopContext } from "./hop-context.ts";
import { errorOf, rejection } from "./refusal.ts";

export interface HopPorts {
  readonly steps: StepPorts;
  readonly pool: RenewalPool;
  /** The same that proves to the control plane, where an agent key is held. */
  readonly prover: AgentProver | undefined;
  readonly edges: EdgeLog | undefined;
  /** For the whole hop. */
  readonly timeoutMs: number;
}

export interface TakeHop extends Omit<DecideRequest, "enforced"> {
  /**
   * The call's parameters as text; asked for where the target turns out to be privileged, before anything is spent.
   * What it throws ends the hop.
   */
  readonly paramsJson: (() => string) | undefined;
}

const routes = {
  lease: { method: "POST", path: "/v1/token/renew" },
  decide: { method: "POST", path: "/v1/authorize" },
  exchange: { method: "POST", path: "/v1/token/exchange" },
  mint: { method: "POST", path: "/v1/token/transaction" },
} as const satisfies Record<string, Asked>;

/**
 * Decides, exchanges and, for a privileged target, mints: always in this order and never one without the other
 * (specification: Inline client behaviour, 1-2). Whatever goes wrong is thrown, so there is no way on from here but
 * with a token that was narrowed as it was asked for.
 */
export async function takeHop(
  ports: HopPorts,
  context: HopContext,
  hop: TakeHop,
  signal: AbortSignal | undefined,
): Promise<Grant> {
  signal?.throwIfAborted();
  const steps = { ports, context, hop, signal, step: stepsWithin(ports, signal) };
  const { lease, decision } = await allowed(steps);
  const paramsJson = boundParams(decision, lease, hop);
  const narrowed = await narrow(steps, lease, decision);
  const transactionToken = paramsJson === undefined ? undefined : await bind(steps, decision, narrowed, paramsJson);
  const identityAssertion = await ports.prover?.assertIdentity(narrowed.accessToken, hop.target);
  return toGrant(context.sessionId, {
    accessToken: narrowed.accessToken,
    scope: narrowed.claims.scope,
    expiresIn: narrowed.expiresInSeconds,
    hop: narrowed.claims.hop,
    target: narrowed.claims.aud,
    taint: narrowed.claims.taint,
    actionId: decision.actionId,
    ...(transactionToken !== undefined && { transactionToken }),
    ...(identityAssertion !== undefined && { identityAssertion }),
  });
}

interface Steps {
  readonly ports: HopPorts;
  readonly context: HopContext;
  readonly hop: TakeHop;
  readonly signal: AbortSignal | undefined;
  /** What each step is given: what is left of the hop's time. */
  readonly step: () => StepOptions;
}

function stepsWithin({ steps, timeoutMs }: HopPorts, signal: AbortSignal | undefined): () => StepOptions {
  const endMs = steps.monotonicMs() + timeoutMs;
  return () => ({ deadlineMs: Math.max(0, endMs - steps.monotonicMs()), ...(signal && { signal }) });
}

async function allowed(steps: Steps): Promise<{ lease: Lease; decision: Allowed }> {
  const { ports, context, hop } = steps;
  let decision: Decision | undefined;
  try {
    const lease = leaseOf(await ports.pool.lease(context, steps.step()), steps.signal);
    const acting = { sessionId: context.sessionId, token: lease.token };
    const decided = await decide(ports.steps, acting, hop, steps.step());
    // Deciding spends nothing; only a token that does not verify is of no further use.
    if (decided.kind !== "decided" || decided.decision.outcome === "deny") {
      if (decided.kind !== "unauthorized") lease.giveBack();
    }
    decision = decisionOf(decided, steps.signal);
    if (decision.outcome === "deny") throw denied(steps, decision, decision.denyReason, decision.consentableScopes);
    return { lease, decision };
  } finally {
    ports.edges?.note(context, hop, decision);
  }
}

function leaseOf(result: LeaseResult, signal: AbortSignal | undefined): Lease {
  if (result.kind === "leased") return result.lease;
  if (result.kind === "unauthorized") throw new ControlPlaneRejected(routes.lease, spentOrRefused);
  const { fault, answer, cause } = result;
  switch (fault) {
    case "closed":
      throw new TypeError("the client is closed");
    case "pool_full":
    case "state_unavailable":
      throw new ControlPlaneUnavailable(routes.lease, fault);
    default:
      throw errorOf(routes.lease, { kind: "unusable", fault, ...(answer && { answer }), cause }, signal);
  }
}

const spentOrRefused: Answer = {
  status: 401,
  code: "unauthorized",
  message: "The context's token is spent, expired or refused.",
};

function decisionOf(decided: DecideResult, signal: AbortSignal | undefined): Decision {
  switch (decided.kind) {
    case "decided":
      return decided.decision;
    case "unauthorized":
      throw rejection(routes.decide, decided.answer);
    case "audit_unavailable":
      throw new ControlPlaneUnavailable(routes.decide, "audit_unavailable", decided.answer);
    case "unusable":
      throw errorOf(routes.decide, decided, signal);
    default:
      return decided satisfies never;
  }
}

function boundParams(decision: Allowed, lease: Lease, { paramsJson }: TakeHop): string | undefined {
  if (!decision.transactionRequired) return undefined;
  try {
    if (!paramsJson) throw new TransactionParamsRequired(decision.target, decision.actionId);
    return paramsJson();
  } catch (error) {
    lease.giveBack();
    throw error;
  }
}

async function narrow(steps: Steps, lease: Lease, decision: Allowed): Promise<NarrowedToken> {
  const { ports, context, hop, signal } = steps;
  const subject = { sessionId: context.sessionId, token: lease.token };
  const { target, dataClass, taint } = hop;
  const request = { target, dataClass, actionId: decision.actionId, ...(taint && { taint }) };
  const exchanged = await exchange(ports.steps, subject, request, steps.step());
  switch (exchanged.kind) {
    case "exchanged":
      return exchanged.token;
    case "denied":
      lease.giveBack();
      throw exchanged.denyReason
        ? denied(steps, decision, exchanged.denyReason)
        : rejection(routes.exchange, exchanged.answer);
    case "unauthorized":
      throw rejection(routes.exchange, exchanged.answer);
    case "unusable":
      throw errorOf(routes.exchange, exchanged, signal);
    default:
      return exchanged satisfies never;
  }
}

async function bind(
  steps: Steps,
  decision: Allowed,
  { accessToken }: NarrowedToken,
  paramsJson: string,
): Promise<string> {
  const narrowed = { sessionId: steps.context.sessionId, token: accessToken };
  const request = { actionId: decision.actionId, target: decision.target, paramsJson };
  const minted = await mint(steps.ports.steps, narrowed, request, steps.step());
  switch (minted.kind) {
    case "minted":
      return minted.transactionToken;
    case "denied":
      throw minted.denyReason ? denied(steps, decision, minted.denyReason) : rejection(routes.mint, minted.answer);
    case "unusable":
      throw errorOf(routes.mint, minted, steps.signal);
    default:
      return minted satisfies never;
  }
}

/** Of a later stage only the reason is told; the rest is what was decided before. */
function denied(
  { context }: Steps,
  decision: Decision,
  reason: DenyReason,
  consentableScopes: readonly string[] = [],
): PolicyDenied {
  const { target, hop, actionId, policyVersion } = decision;
  // Taint only rises, and its source was not told.
  const hasRisen = reason === "TAINT_BLOCKED" && decision.taint === "trusted_internal";
  return new PolicyDenied({
    reason,
    recoverable: isRecoverable(reason),
    consentableScopes,
    target,
    hop,
    sessionId: context.sessionId,
    actionId,
    taint: hasRisen ? "untrusted_external" : decision.taint,
    taintSource: hasRisen ? null : decision.taintSource,
    policyVersion,
  });
}
