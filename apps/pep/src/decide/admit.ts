import type { BlockCause } from "@svc/core";
import {
  type Allowed,
  type Hop,
  type HopFailure,
  type HopPorts,
  type HopStep,
  type HopTaken,
  type PoolFault,
  poolFaults,
  type SettledBody,
  type Stage,
  type TraceHeaders,
  takeHop,
} from "@svc/hop";
import type { ObserveChoice, PepMode } from "../modes.ts";
import type { Block } from "../protocols/answers.ts";
import type { CallTarget } from "../protocols/protocol.ts";
import type { InboundCredentials } from "./inbound-credentials.ts";
import type { BodyRefusal } from "./settle-body.ts";

/** Why a call is not allowed. */
export interface Refusal extends Omit<Block, "shed"> {
  /** Of `other`: why the pool had no token. */
  readonly poolFault?: PoolFault;
}

/** A call that goes upstream. */
export type Passing =
  | {
      readonly kind: "pass";
      readonly hop: Hop;
      readonly taken: HopTaken;
      /** Observe mode forwards a privileged body that cannot be bound, without a transaction token. */
      readonly refusal?: Refusal | undefined;
    }
  /** Observe mode forwards it without any credential of ours. */
  | { readonly kind: "would_block"; readonly refusal: Refusal; readonly taken?: undefined };

/** The outcome of a call before anything is sent upstream. `gone`: the agent disconnected. */
export type Admission = Passing | { readonly kind: "blocked"; readonly refusal: Refusal } | { readonly kind: "gone" };

export interface AdmitPorts {
  readonly hop: HopPorts;
  readonly observe: Observe;
}

interface Observe {
  /** Of a call without a decision, or without a token for one: no reviewer of decisions would see it. */
  readonly undecided: ObserveChoice;
  /** Of a call that the configuration names no target for. */
  readonly unlisted: ObserveChoice;
}

export interface AdmitRequest {
  readonly inbound: InboundCredentials;
  readonly mode: PepMode;
  /** Undefined: the configuration names no target for the call. */
  readonly call: CallTarget | undefined;
  readonly signal: AbortSignal;
  readonly record: { readonly trace: TraceHeaders; stage(stage: Stage, durationMs: number): void };
  readonly settleBody: (decision: Allowed) => Promise<SettledBody<BodyRefusal>>;
}

/** Bearer, target, decision, token (docs/reference/enforcement-point.md#steps-of-a-call). */
export async function admit({ hop: ports, observe }: AdmitPorts, request: AdmitRequest): Promise<Admission> {
  const { inbound, mode, call, signal, record, settleBody } = request;
  const refuse = (refusal: Refusal): Admission => ({
    kind: mode === "observe" && isForwarded(refusal.cause, observe) ? "would_block" : "blocked",
    refusal,
  });
  const { credential } = inbound;
  if (!credential) return refuse({ cause: "unauthorized", message: inbound.fault });
  if (!call) return refuse({ cause: "unresolvable_call" });
  const enforced = mode === "enforce";
  const hop: Hop = { credential, call, enforced, signal, trace: record.trace, onStage: record.stage };
  let unbound: Refusal | undefined;
  const result = await takeHop(ports, hop, async (decision) => {
    const settled = await settleBody(decision);
    if (enforced || settled.kind === "ready" || settled.refusal === "gone") return settled;
    unbound = { cause: settled.refusal, decision };
    return { kind: "ready" };
  });
  if (result.kind === "taken") return { kind: "pass", hop, taken: result, refusal: unbound };
  const refusal = result.kind === "body_refused" ? bodyRefusal(result) : refusalOf(result);
  return refusal === "gone" ? { kind: "gone" } : refuse(refusal);
}

const bodyRefusal = ({ refusal, decision }: { refusal: BodyRefusal; decision: Allowed }): Refusal | "gone" =>
  refusal === "gone" ? refusal : { cause: refusal, decision };

/**
 * Observe mode forwards a recorded deny and what is not bound; what is not listed and what is not decided by its settings
 * (docs/reference/enforcement-point.md#observe-mode).
 */
function isForwarded(cause: BlockCause, { undecided, unlisted }: Observe): boolean {
  switch (cause) {
    case "policy":
    case "body_too_large":
    case "unbindable":
      return true;
    case "unresolvable_call":
      return unlisted === "forward";
    default:
      return undecided === "forward";
  }
}

const unreachable = {
  lease: "pdp_unreachable",
  decide: "pdp_unreachable",
  exchange: "exchange_unreachable",
  mint: "mint_unreachable",
} as const satisfies Record<HopStep, BlockCause>;

/** The block cause of a failed hop (docs/reference/enforcement-point.md#causes). `gone`: the agent disconnected. */
export function refusalOf(failure: HopFailure): Refusal | "gone" {
  const decision = failure.kind !== "audit_unavailable" && failure.decision ? { decision: failure.decision } : {};
  switch (failure.kind) {
    case "denied":
      return { cause: "policy", ...decision };
    case "unauthorized":
    case "audit_unavailable":
      return { cause: failure.kind, ...decision };
    case "unusable": {
      if (failure.fault === "aborted") return "gone";
      // A fault of the pool itself is not a response of the control plane.
      const poolFault = poolFaults.find((fault) => fault === failure.fault);
      return poolFault === undefined
        ? { cause: unreachable[failure.step], ...decision }
        : { cause: "other", poolFault };
    }
    default:
      return failure satisfies never;
  }
}
