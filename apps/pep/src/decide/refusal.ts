import type { BlockCause } from "@svc/core";
import { type HopFailure, type HopStep, type PoolFault, poolFaults } from "@svc/hop";
import type { Block } from "../protocols/answers.ts";

/** Why a call is not allowed. */
export interface Refusal extends Omit<Block, "shed"> {
  /** Of `other`: why the pool had no token. */
  readonly poolFault?: PoolFault;
}

const unreachable = {
  lease: "pdp_unreachable",
  decide: "pdp_unreachable",
  exchange: "exchange_unreachable",
  mint: "mint_unreachable",
} as const satisfies Record<HopStep, BlockCause>;

/**
 * The block cause of a hop that ended without a token (docs/reference/enforcement-point.md#causes). `gone`: the agent
 * disconnected.
 */
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
