import { type BlockCause, type DenyReason, isRecoverable } from "@svc/core";
import { type Decision, type HopFailure, type HopStep, type PoolFault, poolFaults } from "@svc/hop";
import type { BlockedDecision } from "../protocols/answers.ts";

/** Why a call is not allowed. */
export interface Refusal {
  readonly cause: BlockCause;
  /** Present where a record exists. */
  readonly decision?: Decision;
  /** Of a deny, at whichever step. Null where the response named none. */
  readonly denyReason?: DenyReason | null;
  /** Of `other`: why the pool had no token. */
  readonly poolFault?: PoolFault;
}

const unreachable = {
  lease: "pdp_unreachable",
  decide: "pdp_unreachable",
  exchange: "exchange_unreachable",
  mint: "mint_unreachable",
} as const satisfies Record<HopStep, BlockCause>;

/** The block cause of a hop that ended without a token (contract: Causes). `gone`: the agent disconnected. */
export function refusalOf(failure: HopFailure): Refusal | "gone" {
  const decision = failure.kind !== "audit_unavailable" && failure.decision ? { decision: failure.decision } : {};
  switch (failure.kind) {
    case "denied":
      return { cause: "policy", ...decision, denyReason: failure.denyReason };
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

/** The facts of its decision that a block reports. */
export const blockedDecision = ({ decision, denyReason = null }: Refusal): BlockedDecision | undefined =>
  decision && {
    actionId: decision.actionId,
    denyReason,
    recoverable: denyReason !== null && isRecoverable(denyReason),
    consentableScopes: decision.outcome === "deny" ? decision.consentableScopes : [],
  };
