import { type BlockCause, type DenyReason, isRecoverable } from "@svc/core";
import {
  type Allowed,
  type Decision,
  decide,
  exchange,
  type HopCredential,
  type Lease,
  type LeaseResult,
  mint,
  type PoolFault,
  poolFaults,
  type RenewalPool,
  type Stage,
  type StepOptions,
  type StepPorts,
  type TraceHeaders,
} from "@svc/hop";
import type { BodyStanding } from "./decide/settle-body.ts";
import type { Grant } from "./forward/outbound-credentials.ts";
import type { Limits } from "./limits.ts";
import type { CallTarget } from "./protocols/routes.ts";

/** What the guard works with. */
export interface GuardPorts {
  readonly steps: StepPorts;
  readonly pool: RenewalPool;
  /** Present where an agent key is held: the `Agent-Identity` header for a target. */
  readonly assertIdentity?: (accessToken: string, target: string) => Promise<string>;
  readonly limits: Pick<Limits, "stepMs" | "hopMs">;
}

/** One call, resolved. */
export interface Hop {
  /** As the agent presented it; the pool acts with siblings of it. */
  readonly credential: HopCredential;
  readonly call: CallTarget;
  readonly enforced: boolean;
  /** Aborts when the agent goes away. */
  readonly signal: AbortSignal;
  readonly trace: TraceHeaders;
  readonly onStage?: (stage: Stage, durationMs: number) => void;
}

export interface Refusal {
  readonly cause: BlockCause;
  /** Present where a record exists. */
  readonly decision?: Decision;
  /** Of a deny, at whichever stage. Null where the answer named none. */
  readonly denyReason?: DenyReason | null;
  /** Of `other`: why no token could be had. */
  readonly poolFault?: PoolFault;
}

export type Verdict =
  | { readonly kind: "allowed"; readonly decision: Allowed; readonly grant: Grant; readonly isBodyLate: boolean }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** The agent went away; nobody waits for an answer. */
  | { readonly kind: "gone" };

/**
 * decide, exchange, mint (contract: What happens to a call). The body is settled between the first two: nothing is
 * spent for a call that could not be bound, and nothing learnt while the body was read escapes the exchange.
 */
export async function guard(
  ports: GuardPorts,
  hop: Hop,
  settleBody: (decision: Allowed) => Promise<BodyStanding>,
): Promise<Verdict> {
  const step = budgetOf(ports, hop);
  const asked = await ask(ports, hop, step);
  if (asked.kind !== "allowed") return asked;
  const { lease, decision } = asked;
  const body = await settleBody(decision);
  if (body.kind === "gone" || body.kind === "blocked") {
    lease.giveBack();
    return body.kind === "gone" ? body : refused(body.cause, { decision });
  }
  const narrowed = await narrow(ports, hop, step, asked);
  if (narrowed.kind !== "narrowed") return narrowed;
  const grant = { sessionId: hop.credential.sessionId, accessToken: narrowed.accessToken };
  if (body.kind === "late") return granted(ports, decision, grant, true);
  if (body.paramsJson === undefined) return granted(ports, decision, grant, false);
  return bindParams(ports, step, decision, grant, body.paramsJson);
}

/**
 * Asks again about a call under way (contract: What happens to a call, 4). It records and spends nothing else.
 *
 * @returns with an allow the token that was decided on, for what it tells of the session's end
 */
export async function decideAgain(
  ports: GuardPorts,
  { credential, call, enforced, signal, trace }: Hop,
): Promise<{ kind: "allowed"; token: string } | Unallowed> {
  const hop = { credential, call, enforced, signal, trace };
  const asked = await ask(ports, hop, budgetOf(ports, hop));
  if (asked.kind !== "allowed") return asked;
  asked.lease.giveBack();
  return { kind: "allowed", token: asked.lease.token };
}

type Unallowed = Exclude<Verdict, { kind: "allowed" }>;
type Step = <T>(run: (options: StepOptions) => Promise<T>) => Promise<T>;

/** Each step gets its own time and what is left of the whole; reading a body in between is the agent's time. */
function budgetOf({ limits, steps }: GuardPorts, { signal, trace, onStage }: Hop): Step {
  let leftMs = limits.hopMs;
  return async (run) => {
    const startedMs = steps.monotonicMs();
    try {
      return await run({ deadlineMs: Math.min(limits.stepMs, leftMs), signal, trace, ...(onStage && { onStage }) });
    } finally {
      leftMs -= steps.monotonicMs() - startedMs;
    }
  };
}

interface Asked {
  readonly kind: "allowed";
  readonly lease: Lease;
  readonly decision: Allowed;
}

async function ask({ pool, steps }: GuardPorts, hop: Hop, step: Step): Promise<Asked | Unallowed> {
  const { credential, call, enforced } = hop;
  const leased = await step((options) => pool.lease(credential, options));
  if (leased.kind !== "leased") return unleased(leased);
  const { lease } = leased;
  const acting = { sessionId: credential.sessionId, token: lease.token };
  const decided = await step((options) => decide(steps, acting, { ...call, enforced }, options));
  if (decided.kind === "decided" && decided.decision.outcome === "allow") {
    return { kind: "allowed", lease, decision: decided.decision };
  }
  // Deciding spends nothing; only a token that does not verify is of no further use.
  if (decided.kind !== "unauthorized") lease.giveBack();
  switch (decided.kind) {
    case "decided":
      return denied(decided.decision, "denyReason" in decided.decision ? decided.decision.denyReason : null);
    case "unusable":
      return decided.fault === "aborted" ? { kind: "gone" } : refused("pdp_unreachable");
    default:
      return refused(decided.kind);
  }
}

function unleased(result: Exclude<LeaseResult, { kind: "leased" }>): Unallowed {
  if (result.kind === "unauthorized") return refused("unauthorized");
  if (result.fault === "aborted") return { kind: "gone" };
  // Faults of the pool itself are no answer of the decision point.
  const poolFault = poolFaults.find((fault) => fault === result.fault);
  return poolFault === undefined ? refused("pdp_unreachable") : refused("other", { poolFault });
}

async function narrow(
  { steps }: GuardPorts,
  { credential, call }: Hop,
  step: Step,
  { lease, decision }: Asked,
): Promise<{ kind: "narrowed"; accessToken: string } | Unallowed> {
  const subject = { sessionId: credential.sessionId, token: lease.token };
  const request = { target: call.target, dataClass: call.dataClass, actionId: decision.actionId };
  const exchanged = await step((options) => exchange(steps, subject, request, options));
  switch (exchanged.kind) {
    case "exchanged":
      return { kind: "narrowed", accessToken: exchanged.token.accessToken };
    case "denied":
      lease.giveBack();
      return denied(decision, exchanged.denyReason);
    case "unauthorized":
      return refused("unauthorized", { decision });
    case "unusable":
      // Never sent is never spent; after anything else the token may be.
      if (exchanged.fault === "refused") lease.giveBack();
      return exchanged.fault === "aborted" ? { kind: "gone" } : refused("exchange_unreachable", { decision });
    default:
      return exchanged satisfies never;
  }
}

async function bindParams(
  ports: GuardPorts,
  step: Step,
  decision: Allowed,
  grant: Grant,
  paramsJson: string,
): Promise<Verdict> {
  const narrowed = { sessionId: grant.sessionId, token: grant.accessToken };
  const request = { actionId: decision.actionId, target: decision.target, paramsJson };
  const minted = await step((options) => mint(ports.steps, narrowed, request, options));
  switch (minted.kind) {
    case "minted":
      return granted(ports, decision, { ...grant, transactionToken: minted.transactionToken }, false);
    case "denied":
      return denied(decision, minted.denyReason);
    case "unusable":
      return minted.fault === "aborted" ? { kind: "gone" } : refused("mint_unreachable", { decision });
    default:
      return minted satisfies never;
  }
}

async function granted(ports: GuardPorts, decision: Allowed, grant: Grant, isBodyLate: boolean): Promise<Verdict> {
  const identityAssertion = await ports.assertIdentity?.(grant.accessToken, decision.target);
  const complete = identityAssertion === undefined ? grant : { ...grant, identityAssertion };
  return { kind: "allowed", decision, grant: complete, isBodyLate };
}

const refused = (cause: BlockCause, facts: Omit<Refusal, "cause"> = {}): Unallowed => ({
  kind: "refused",
  refusal: { cause, ...facts },
});

const denied = (decision: Decision, denyReason: DenyReason | null): Unallowed =>
  refused("policy", { decision, denyReason });

/** What a block tells of its decision. */
export const blockedDecision = ({ decision, denyReason = null }: Refusal) =>
  decision && {
    actionId: decision.actionId,
    denyReason,
    recoverable: denyReason !== null && isRecoverable(denyReason),
    consentableScopes: decision.outcome === "deny" ? decision.consentableScopes : [],
  };
