import {
  type Allowed,
  type Hop,
  type HopCredential,
  type HopFailure,
  type HopPorts,
  type HopResult,
  type HopStep,
  type HopTaken,
  isProofRefused,
  isRefusal,
  namesMember,
  type PoolFault,
  type RecordedDeny,
  type SettledBody,
  type Stage,
  type TraceHeaders,
  takeHop,
} from "@svc/hop";
import type { ObserveChoice, PepMode } from "../modes.ts";
import { type Block, type BlockReason, blockedFor } from "../protocols/blocks.ts";
import type { IdentifiedCall } from "../protocols/protocol.ts";
import { type InboundCredentials, uncredentialed } from "./inbound-credentials.ts";
import type { RecordEdge } from "./record-edge.ts";
import type { SessionsBeside } from "./sessions-beside.ts";
import type { BodyRefusal } from "./settle-body.ts";
import { takeInSomeSession } from "./take-beside.ts";

/** Why a call is not allowed. */
export type Refusal = Block;

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
  | (Refused & { readonly kind: "would_block"; readonly taken?: undefined });

interface Refused {
  readonly refusal: Refusal;
  /** The session that was decided in, where there is a decision. */
  readonly under?: HopCredential | undefined;
}

/** The outcome of a call before anything is sent upstream. `gone`: the agent disconnected. */
export type Admission = Passing | (Refused & { readonly kind: "blocked" }) | { readonly kind: "gone" };

export interface AdmitPorts {
  readonly hop: HopPorts;
  /** Absent: no call edges are recorded. */
  readonly recordEdge?: RecordEdge | undefined;
  readonly observe: Observe;
  /** Absent: each call is decided in its own session alone. */
  readonly beside?: SessionsBeside | undefined;
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
  /** Without a call: the configuration names no target for it. */
  readonly identified: IdentifiedCall;
  readonly signal: AbortSignal;
  readonly record: { trace(): TraceHeaders; stage(stage: Stage, durationMs: number): void };
  /** Absent, or read whole. */
  readonly bodySettled: boolean;
  readonly settleBody: (decision: Allowed) => Promise<SettledBody<BodyRefusal>>;
}

/** Bearer, target, decision, token (docs/reference/enforcement-point.md#steps-of-a-call). */
export async function admit(
  { hop: ports, recordEdge, observe, beside }: AdmitPorts,
  request: AdmitRequest,
): Promise<Admission> {
  const { inbound, mode, identified, signal, record, bodySettled, settleBody } = request;
  const refuse = (refusal: Refusal, under?: HopCredential): Admission => ({
    kind: mode === "observe" && isForwarded(refusal, observe) ? "would_block" : "blocked",
    refusal,
    under,
  });
  const { credential } = inbound;
  const { call, unresolved } = identified;
  if (!credential) return refuse(uncredentialed(inbound));
  if (!call) return refuse(unresolved ?? { cause: "unresolvable_call" });
  const enforced = mode === "enforce";
  const take = async (under: HopCredential) => {
    const hop: Hop = {
      credential: under,
      call,
      enforced,
      bodySettled,
      signal,
      trace: record.trace(),
      onStage: record.stage,
    };
    let unbound: Refusal | undefined;
    const result = await takeRecorded(ports, recordEdge, hop, async (decision) => {
      const settled = await settleBody(decision);
      if (enforced || settled.kind === "ready" || settled.refusal === "gone") return settled;
      unbound = { ...settled.refusal, decision };
      return { kind: "ready" };
    });
    return { under, hop, result, unbound };
  };
  const isAwaited = identified.consent === "accepted";
  const { under, hop, result, unbound } = await takeInSomeSession({
    ...{ beside, caller: credential, call, isAwaited, signal, take },
  });
  if (result.kind === "taken") return { kind: "pass", hop, taken: result, refusal: unbound };
  const refusal = result.kind === "body_refused" ? bodyRefusal(result) : refusalOf(result);
  return refusal === "gone" ? { kind: "gone" } : refuse(refusal, under);
}

/** Takes the hop and records its edge, also where it throws. */
async function takeRecorded(
  ports: HopPorts,
  recordEdge: RecordEdge | undefined,
  hop: Hop,
  settleBody: (decision: Allowed) => Promise<SettledBody<BodyRefusal>>,
): Promise<HopResult<BodyRefusal>> {
  let decision: Allowed | RecordedDeny | undefined;
  try {
    const result = await takeHop(ports, hop, (allowed) => {
      decision = allowed;
      return settleBody(allowed);
    });
    if (result.kind === "denied") decision = result.decision;
    return result;
  } finally {
    recordEdge?.(hop, decision);
  }
}

const bodyRefusal = ({ refusal, decision }: { refusal: BodyRefusal; decision: Allowed }): Refusal | "gone" =>
  refusal === "gone" ? refusal : { ...refusal, decision };

/**
 * Observe mode forwards a recorded deny and what is not bound; what is not listed and what is not decided by its settings
 * (docs/reference/enforcement-point.md#observe-mode).
 */
function isForwarded({ cause, reason }: Refusal, { undecided, unlisted }: Observe): boolean {
  // The file names the call; the control plane does not let it be observed.
  if (reason === "observe_not_admitted") return undecided === "forward";
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

const noAnswer = {
  lease: "no_decision",
  decide: "no_decision",
  exchange: "no_token",
  mint: "no_transaction_token",
} as const satisfies Record<HopStep, BlockReason>;

/** The block cause of a failed hop (docs/reference/enforcement-point.md#causes). `gone`: the agent disconnected. */
export function refusalOf(failure: HopFailure): Refusal | "gone" {
  const decision = failure.kind !== "audit_unavailable" && failure.decision ? { decision: failure.decision } : {};
  switch (failure.kind) {
    case "denied":
      return { cause: "policy", ...decision };
    case "unauthorized":
      return { ...blockedFor(unauthorizedReason(failure)), ...decision };
    case "audit_unavailable":
      return blockedFor("not_recorded");
    case "unusable":
      return failure.fault === "aborted" ? "gone" : { ...unusableBlock(failure), ...decision };
    default:
      return failure satisfies never;
  }
}

function unauthorizedReason({ step, response }: Extract<HopFailure, { kind: "unauthorized" }>): BlockReason {
  if (response && isProofRefused(response)) return "proof_refused";
  return step === "exchange" && response?.code === "invalid_grant" ? "spent_elsewhere" : "token_refused";
}

/** Faults of the pool itself are no responses of the control plane. */
const poolReasons = {
  pool_full: "pool_full",
  state_unavailable: "state_unavailable",
  closed: "stopping",
} as const satisfies Record<PoolFault, BlockReason>;

/** Only what cannot be reached or understood is unreachable: a refusal that was understood says what it refuses. */
function unusableBlock({ step, fault, response, decision }: Extract<HopFailure, { kind: "unusable" }>): Block {
  if (Object.hasOwn(poolReasons, fault)) return blockedFor(poolReasons[fault as PoolFault]);
  if (response?.status === 429) {
    const { retryAfter = "1" } = response;
    const when = /^\d+$/.test(retryAfter) ? `after ${retryAfter} s` : "when Retry-After says";
    return { ...blockedFor("rate_limited", { when }), retryAfter };
  }
  if (response && namesMember(response, "enforced")) return blockedFor("observe_not_admitted");
  if (response?.status === 422 && response.code === "params_unbindable") return blockedFor("unbindable");
  if (response && isRefusal(response)) return blockedFor("refused", { code: response.code ?? "" });
  return blockedFor(step === "lease" && decision ? "no_token" : noAnswer[step], { fault });
}
