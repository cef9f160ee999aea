import { load, type Target } from "../measure/load.ts";
import { type AgentLine, registerLine } from "../rig/agents.ts";
import type { Bench } from "../rig/bench.ts";
import { liveAgents } from "../rig/live-agents.ts";
import { type Skeleton, startSkeleton, throughSkeleton } from "../rig/skeleton.ts";
import { type Stack, startStack } from "../rig/stack.ts";
import { throughPep } from "./hop-targets.ts";

/** The stack that hops go through, and the agents that make them. */
export interface HopRig {
  readonly stack: Stack;
  readonly line: AgentLine;
  /** What the same hop is without all that makes it safe. */
  readonly skeleton: Skeleton;
}

/** The longest chain that is measured: the largest hop budget is 32, and the tool's is the last hop of it. */
export const longestChain = 31;

export async function prepareHopRig(bench: Bench): Promise<HopRig> {
  const stack = bench.use(await startStack({ stores: bench.stores, upstream: bench.upstream.url }));
  const line = await registerLine(stack.controlPlane.url, "bench", longestChain);
  await warmUp(bench, await throughPep(stack, await liveAgents(stack, line, 1, warmingConnections)));
  const skeleton = await startSkeleton(bench);
  await warmUp(bench, throughSkeleton(skeleton));
  return { stack, line, skeleton };
}

const warmingConnections = 8;

/**
 * Whatever is ours and whatever it is compared with has answered so many calls before it is measured: a hop got faster for some
 * 15,000 (990 a second in the first three seconds, 1,200 to 1,350 from the sixth such on).
 */
export const warmingCalls = ({ isQuick }: Bench["pace"]): number => (isQuick ? 2_000 : 15_000);

/** Asks until that many were answered, for a minute at the longest. */
export async function warmUp({ pace }: Bench, target: Target): Promise<void> {
  const calls = warmingCalls(pace);
  const until = performance.now() + 60_000;
  for (let done = 0; done < calls && performance.now() < until; ) {
    done += (await load(target, warmingConnections, 0.5)).answered;
  }
}
