import { type BlockCause, type DenyReason, isRecoverable } from "@svc/core";
import {
  type Allowed,
  type Decision,
  type Hop,
  type HopFailure,
  type HopPorts,
  type HopStep,
  decideAgain as isStillAllowed,
  type PoolFault,
  poolFaults,
  type SettledBody,
  takeHop,
} from "@svc/hop";
import type { Grant } from "./decide/grant.ts";
import type { BodyState } from "./decide/settle-body.ts";

export type { Hop, HopPorts as GuardPorts } from "@svc/hop";

export interface Refusal {
  readonly cause: BlockCause;
  /** Present where a record exists. */
  readonly decision?: Decision;
  /** Of a deny, at whichever step. Null where the response named none. */
  readonly denyReason?: DenyReason | null;
  /** Of `other`: why the pool had no token. */
  readonly poolFault?: PoolFault;
}

export type Verdict =
  | { readonly kind: "allowed"; readonly decision: Allowed; readonly grant: Grant; readonly isBodyLate: boolean }
  | Unallowed;

type Unallowed =
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** The agent disconnected. */
  | { readonly kind: "gone" };

/** Takes the hop of one call; every result is a verdict with a block cause (contract: Causes). */
export async function guard(
  ports: HopPorts,
  hop: Hop,
  settleBody: (decision: Allowed) => Promise<BodyState>,
): Promise<Verdict> {
  let isBodyLate = false;
  const result = await takeHop(ports, hop, async (allowed): Promise<SettledBody<Unallowed>> => {
    const body = await settleBody(allowed);
    isBodyLate = body.kind === "late";
    if (body.kind === "gone") return { kind: "refused", refusal: body };
    if (body.kind === "blocked") return { kind: "refused", refusal: refused(body.cause, { decision: allowed }) };
    return body.kind === "ready" ? body : { kind: "ready" };
  });
  if (result.kind === "body_refused") return result.refusal;
  if (result.kind !== "taken") return verdictOf(result);
  const { decision, token, kind, ...companions } = result;
  const grant = { sessionId: hop.credential.sessionId, accessToken: token.accessToken, ...companions };
  return { kind: "allowed", decision, grant, isBodyLate };
}

/** Decides again on a call under way; see `decideAgain` of the hop package. */
export async function decideAgain(
  ports: HopPorts,
  hop: Hop,
): Promise<{ readonly kind: "allowed"; readonly token: string } | Unallowed> {
  const result = await isStillAllowed(ports, hop);
  return result.kind === "allowed" ? result : verdictOf(result);
}

const unreachable = {
  lease: "pdp_unreachable",
  decide: "pdp_unreachable",
  exchange: "exchange_unreachable",
  mint: "mint_unreachable",
} as const satisfies Record<HopStep, BlockCause>;

/** The block cause of a hop that ended without a token. */
export function verdictOf(failure: HopFailure): Unallowed {
  switch (failure.kind) {
    case "denied":
      return refused("policy", { decision: failure.decision, denyReason: failure.denyReason });
    case "unauthorized":
      return refused("unauthorized", withDecision(failure));
    case "audit_unavailable":
      return refused("audit_unavailable");
    case "unusable": {
      if (failure.fault === "aborted") return { kind: "gone" };
      // A fault of the pool itself is not a response of the control plane.
      const poolFault = poolFaults.find((fault) => fault === failure.fault);
      return poolFault === undefined
        ? refused(unreachable[failure.step], withDecision(failure))
        : refused("other", { poolFault });
    }
    default:
      return failure satisfies never;
  }
}

const withDecision = ({ decision }: { readonly decision?: Allowed }): { readonly decision?: Allowed } =>
  decision ? { decision } : {};

const refused = (cause: BlockCause, facts: Omit<Refusal, "cause"> = {}): Unallowed => ({
  kind: "refused",
  refusal: { cause, ...facts },
});

/** The facts of its decision that a block reports. */
export const blockedDecision = ({ decision, denyReason = null }: Refusal) =>
  decision && {
    actionId: decision.actionId,
    denyReason,
    recoverable: denyReason !== null && isRecoverable(denyReason),
    consentableScopes: decision.outcome === "deny" ? decision.consentableScopes : [],
  };
