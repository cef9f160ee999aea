import { type Hop, type HopPorts, type HopResult, type HopTaken, hopRun, type SettledBody } from "./hop.ts";
import { offeredLines, takeInOneTrip } from "./one-trip.ts";
import { givenBackIfThrown } from "./pool/lease.ts";
import { decideWith, exchangeFor, leaseToDecide, leaseToTake, mintFor } from "./single-steps.ts";
import type { Allowed } from "./steps/decide.ts";

/**
 * Lease, decide and exchange in one trip, settle the body, mint (docs/reference/enforcement-point.md#steps-of-a-call).
 * Where the trip is not offered or returns the decision alone, the exchange is a step of its own after the body: nothing
 * is exchanged for a call whose body is refused, and what was learnt while the body was read cannot pass the exchange.
 */
export async function takeHop<Refusal>(
  ports: HopPorts,
  hop: Hop,
  settleBody: (decision: Allowed) => Promise<SettledBody<Refusal>>,
): Promise<HopResult<Refusal>> {
  const run = hopRun(ports, hop);
  const lines = offeredLines(ports);
  const leased = await (lines ? leaseToTake(run) : leaseToDecide(run));
  if (leased.kind !== "leased") return leased;
  const { lease } = leased;

  const decided =
    (lines && lease.maySpend && (await takeInOneTrip(run, lines, lease))) || (await decideWith(run, lease));
  if (decided.kind !== "taken" && decided.kind !== "allowed") return decided;
  const { decision } = decided;

  const body = await givenBackIfThrown(lease, () => settleBody(decision));
  if (body.kind === "refused") {
    // Of no effect on a token that was spent in one trip.
    lease.giveBack();
    return { kind: "body_refused", decision, refusal: body.refusal };
  }

  const taken = decided.kind === "taken" ? decided : await exchangeFor(run, decided);
  if (taken.kind !== "taken") return taken;

  const bound = body.paramsJson === undefined ? taken : await mintFor(run, taken, body.paramsJson);
  return bound.kind === "taken" ? withIdentity(ports, bound) : bound;
}

async function withIdentity({ assertIdentity }: HopPorts, taken: HopTaken): Promise<HopTaken> {
  if (!assertIdentity) return taken;
  const { token, decision } = taken;
  return { ...taken, identityAssertion: await assertIdentity(token.accessToken, decision.target) };
}
