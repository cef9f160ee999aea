import { TestTime } from "@svc/test-support/test-time";
import { createRenewalPool, type LeaseResult, type RenewalPoolOptions } from "../../src/index.ts";
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
