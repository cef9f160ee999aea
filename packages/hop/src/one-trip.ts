import type { HopFailure, HopPorts, HopRun, HopTaken, LeasedAllow } from "./hop.ts";
import { hopsPath } from "./hop-lines.ts";
import { decidedWith, exchangeFailed, type Undecided, undecided } from "./outcomes.ts";
import { givenBackIfThrown, type Lease } from "./pool/lease.ts";
import { isUnspentAfter } from "./steps/send.ts";
import { take } from "./steps/take.ts";

type OfferedLines = NonNullable<HopPorts["lines"]>;

/** Undefined where the control plane does not take hops in one trip. */
export const offeredLines = ({ lines, limits }: HopPorts): OfferedLines | undefined =>
  lines?.offer.holds(limits.stepMs) ? lines : undefined;

/**
 * Decides, and exchanges where nothing more can be learnt: the lease gets the sibling that the answer brings. An allow
 * that comes back alone is exchanged by the single step. Undefined where there is no such route any more.
 */
export async function takeInOneTrip(
  { ports, hop, step }: HopRun,
  { offer, hops }: OfferedLines,
  lease: Lease,
): Promise<HopTaken | LeasedAllow | HopFailure | undefined> {
  const { credential, enforced, bodySettled } = hop;
  const call = { ...hop.call, enforced, bodySettled, token: lease.token };
  const taken = await givenBackIfThrown(lease, () =>
    step((options) => take(ports.steps, hops, credential, call, options)),
  );
  switch (taken.kind) {
    case "taken":
      lease.replace(taken.sibling);
      return { kind: "taken", decision: taken.decision, token: taken.token };
    case "decided":
      return decidedWith(lease, taken.decision);
    case "undecided":
      if (isNoSuchRoute(taken.result)) {
        offer.withdrawn();
        return undefined;
      }
      return unansweredIn(taken.result) ?? undecided(lease, taken.result);
    case "untaken":
      return exchangeFailed(lease, taken.result, taken.decision);
  }
}

/** Sent, and perhaps spent: a fault of a store leaves open what was committed, and a refusal does not. */
function unansweredIn(result: Undecided): HopFailure | undefined {
  if (result.kind === "audit_unavailable") return { ...result, step: "decide" };
  if (result.kind === "unauthorized" || (isUnspentAfter(result) && (result.response?.status ?? 0) < 500)) {
    return undefined;
  }
  return { ...result, step: "exchange", path: hopsPath };
}

const isNoSuchRoute = (result: Undecided): boolean =>
  result.kind === "unusable" && result.response?.code === "route_not_found";
