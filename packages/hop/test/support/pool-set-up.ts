import { settled, TestTime } from "@svc/test-support/test-time";
import { createRenewalPool, type HopCredential, type LeaseResult, type RenewalPoolOptions } from "../../src/index.ts";
import { SimulatedPlane } from "./simulated-plane.ts";

export const budget = { deadlineMs: 1_000 };

export function setUp(options: Partial<RenewalPoolOptions> & { sessionSeconds?: number } = {}) {
  const { sessionSeconds, ...rest } = options;
  const time = new TestTime();
  const plane = new SimulatedPlane(time, sessionSeconds);
  const { now, monotonicMs, after } = time;
  const pool = createRenewalPool({ source: plane.source, now, monotonicMs, after, random: () => 0.5, ...rest });
  return { time, plane, pool };
}

export const tokenOf = (result: LeaseResult): string => {
  if (result.kind !== "leased") throw new Error(`not leased: ${JSON.stringify(result)}`);
  return result.lease.token;
};

/** A call as `takeHop` makes it: in one trip with a free token, else decided with one that is read, and exchanged. */
export async function callWith(
  { plane, pool }: ReturnType<typeof setUp>,
  presented: HopCredential,
  isOffered: boolean,
) {
  const decided = await pool[isOffered ? "leaseToTake" : "leaseToDecide"](presented, budget);
  if (decided.kind !== "leased") throw new Error(`not leased: ${JSON.stringify(decided)}`);
  const { lease } = decided;
  await settled();
  if (lease.maySpend && isOffered) {
    const sibling = await plane.takeHop(lease.token);
    if (!sibling) throw new Error("not live, or spent");
    lease.replace(sibling);
    return "one trip";
  }
  if (!lease.maySpend) lease.giveBack();
  const token = lease.maySpend ? lease.token : tokenOf(await pool.lease(presented, budget));
  if (!plane.exchange(token)) throw new Error("not live, or spent");
  return "two trips";
}
