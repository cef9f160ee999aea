import { fromCheckout } from "@svc/test-support";
import { load, type Target } from "../measure/load.ts";
import { registerLine } from "../rig/agents.ts";
import type { Bench } from "../rig/bench.ts";
import { buildFirstRelease } from "../rig/first-release.ts";
import { liveAgents } from "../rig/live-agents.ts";
import { type Skeleton, startSkeleton, throughSkeleton } from "../rig/skeleton.ts";
import { startStack } from "../rig/stack.ts";
import { type HopStack, throughPep } from "./hop-targets.ts";

export interface HopRig extends HopStack {
  /** Undefined where it cannot be built. */
  readonly firstRelease: HopStack | undefined;
  /** The same hop without any of the guarantees. */
  readonly skeleton: Skeleton;
}

/** The longest measured chain: the largest hop budget is 32, and the tool's hop is the last. */
export const longestChain = 31;

export async function prepareHopRig(bench: Bench): Promise<HopRig> {
  const ours = await startWarm(bench, longestChain);
  const firstRelease = await startFirstRelease(bench);
  const skeleton = await startSkeleton(bench);
  await warmUp(bench, throughSkeleton(skeleton));
  return { ...ours, firstRelease, skeleton };
}

/** @param chain agents that delegate to each other */
export async function startWarm(
  bench: Bench,
  chain: number,
  env: Readonly<Record<string, string>> = {},
): Promise<HopStack> {
  const stack = bench.use(await startStack({ stores: bench.stores, upstream: bench.upstream.url, env }));
  const line = await registerLine(stack.controlPlane.url, "bench", chain);
  await warmUp(bench, await throughPep(stack, await liveAgents(stack, line, 1, warmingConnections)));
  return { stack, line };
}

async function startFirstRelease(bench: Bench): Promise<HopStack | undefined> {
  const first = buildFirstRelease();
  if ("checkout" in first) return startWarm(bench, 1, fromCheckout(first.checkout));
  bench.missing("the first release", first.why);
  return undefined;
}

const warmingConnections = 8;

/**
 * Ours and its alternatives serve this many calls before they are measured: a hop got faster for some 15,000 (990 a
 * second in the first three seconds, 1,200 to 1,350 from the sixth such interval on).
 */
export const warmingCalls = ({ isQuick }: Bench["pace"]): number => (isQuick ? 2_000 : 15_000);

/** Calls until this many responses, for a minute at most. */
export async function warmUp({ pace }: Bench, target: Target): Promise<void> {
  const calls = warmingCalls(pace);
  const until = performance.now() + 60_000;
  for (let done = 0; done < calls && performance.now() < until; ) {
    done += (await load(target, warmingConnections, 0.5)).answered;
  }
}
