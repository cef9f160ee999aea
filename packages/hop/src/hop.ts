import type { DenyReason } from "@svc/core";
import type { HopLines } from "./hop-lines.ts";
import type { HopsOffer } from "./hops-offer.ts";
import type { Lease, LeaseFault } from "./pool/lease.ts";
import type { RenewalPool } from "./pool/renewal-pool.ts";
import type { Allowed, DecideRequest, Denied } from "./steps/decide.ts";
import type { NarrowedToken } from "./steps/exchange.ts";
import type { ErrorResponse } from "./steps/send.ts";
import type { HopCredential, StepOptions, StepPorts } from "./steps/step.ts";

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

/** A hop under way: `step` gives each of its steps its own time, and what is left of the whole. */
export interface HopRun {
  readonly ports: HopPorts;
  readonly hop: Hop;
  readonly step: <T>(run: (options: StepOptions) => Promise<T>) => Promise<T>;
}

export function hopRun(ports: HopPorts, hop: Hop): HopRun {
  const { steps, limits } = ports;
  const { credential, call, enforced, bodySettled, ...options } = hop;
  let leftMs = limits.hopMs;
  return {
    ports,
    hop,
    async step(run) {
      const startedMs = steps.monotonicMs();
      try {
        return await run({ ...options, deadlineMs: Math.max(0, Math.min(limits.stepMs, leftMs)) });
      } finally {
        leftMs -= steps.monotonicMs() - startedMs;
      }
    },
  };
}

/** An allow that nothing was spent for yet, and the token of its decision. */
export interface LeasedAllow {
  readonly kind: "allowed";
  readonly decision: Allowed;
  readonly lease: Lease;
}
