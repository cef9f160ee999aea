import { type Hop, type HopFailure, type HopPorts, hopRun } from "./hop.ts";
import { decideWith, leaseToDecide } from "./single-steps.ts";

/**
 * Decides again on a call under way (docs/reference/enforcement-point.md#steps-of-a-call). The decision is recorded and
 * nothing is spent. An allow returns the token that was decided on: its expiry bounds the session's.
 */
export async function decideAgain(
  ports: HopPorts,
  { onStage, ...hop }: Hop,
): Promise<{ readonly kind: "allowed"; readonly token: string } | HopFailure> {
  const run = hopRun(ports, hop);
  const leased = await leaseToDecide(run);
  if (leased.kind !== "leased") return leased;
  const decided = await decideWith(run, leased.lease);
  if (decided.kind !== "allowed") return decided;
  decided.lease.giveBack();
  return { kind: "allowed", token: decided.lease.token };
}
