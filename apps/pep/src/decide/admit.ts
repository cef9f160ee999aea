import type { BlockCause } from "@svc/core";
import type { Allowed, Stage, TraceHeaders } from "@svc/hop";
import { type GuardPorts, guard, type Hop, type Refusal } from "../guard.ts";
import type { PepMode, UndecidedMode } from "../modes.ts";
import type { CallTarget } from "../protocols/protocol.ts";
import type { Grant, OutboundCredentials } from "./grant.ts";
import type { InboundCredentials } from "./inbound-credentials.ts";
import type { BodyState } from "./settle-body.ts";

/** The outcome of a call before anything is sent upstream. */
export type Admission =
  | {
      readonly kind: "pass";
      readonly outbound: OutboundCredentials;
      readonly grant: Grant;
      readonly hop: Hop;
      readonly decision: Allowed;
      readonly isBodyLate: boolean;
    }
  /** Observe mode forwards it without any credential of ours. */
  | { readonly kind: "would_block"; readonly outbound: OutboundCredentials; readonly refusal: Refusal }
  | { readonly kind: "blocked"; readonly refusal: Refusal }
  /** The agent went away. */
  | { readonly kind: "gone" };

/** A call that goes upstream. */
export type Passing = Extract<Admission, { kind: "pass" | "would_block" }>;

export interface AdmitPorts {
  readonly guard: GuardPorts;
  readonly undecided: UndecidedMode;
}

export interface AdmitRequest {
  readonly inbound: InboundCredentials;
  readonly mode: PepMode;
  /** Undefined: the configuration names no target for the call. */
  readonly call: CallTarget | undefined;
  readonly signal: AbortSignal;
  readonly record: { readonly trace: TraceHeaders; stage(stage: Stage, durationMs: number): void };
  readonly settleBody: (decision: Allowed) => Promise<BodyState>;
}

/** The contract's order (What happens to a call): bearer, target, decision, token. */
export async function admit(ports: AdmitPorts, request: AdmitRequest): Promise<Admission> {
  const { inbound, mode, call, signal, record, settleBody } = request;
  const refuse = (refusal: Refusal): Admission => refusalUnder(mode, ports.undecided, inbound, refusal);
  const { credential } = inbound;
  if (!credential) return refuse({ cause: "unauthorized" });
  if (!call) return refuse({ cause: "unresolvable_call" });
  const enforced = mode === "enforce";
  const hop: Hop = { credential, call, enforced, signal, trace: record.trace, onStage: record.stage };
  const verdict = await guard(ports.guard, hop, settleBody);
  switch (verdict.kind) {
    case "allowed": {
      const { decision, grant, isBodyLate } = verdict;
      return { kind: "pass", outbound: outboundOf(inbound, grant), grant, hop, decision, isBodyLate };
    }
    case "refused":
      return refuse(verdict.refusal);
    case "gone":
      return verdict;
    default:
      throw verdict satisfies never;
  }
}

/** Causes of a call without a decision, or without a token for one: no reviewer of decisions would see it. */
const undecidedCauses: readonly BlockCause[] = [
  "unauthorized",
  "unresolvable_call",
  "pdp_unreachable",
  "exchange_unreachable",
  "mint_unreachable",
  "audit_unavailable",
];

/** Observe mode forwards a recorded deny, and other refusals only with `SVC_PEP_OBSERVE_UNDECIDED` (contract: Observe mode). */
function refusalUnder(
  mode: PepMode,
  undecided: UndecidedMode,
  inbound: InboundCredentials,
  refusal: Refusal,
): Admission {
  const isOnItsMerits = refusal.cause === "policy";
  const isForwarded = isOnItsMerits || (undecided === "forward" && undecidedCauses.includes(refusal.cause));
  return mode === "observe" && isForwarded
    ? { kind: "would_block", outbound: outboundOf(inbound), refusal }
    : { kind: "blocked", refusal };
}

const outboundOf = ({ foreignAuthorization }: InboundCredentials, grant?: Grant): OutboundCredentials => ({
  ...(grant && { grant }),
  ...(foreignAuthorization !== undefined && { foreignAuthorization }),
});
