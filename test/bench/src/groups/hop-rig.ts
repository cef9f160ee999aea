import { fromCheckout } from "@svc/test-support";
import { load, type Target } from "../measure/load.ts";
import { registerLine } from "../rig/agents.ts";
import type { Bench } from "../rig/bench.ts";
import { buildAt, firstReleaseCommit } from "../rig/earlier-build.ts";
import { liveAgents } from "../rig/live-agents.ts";
import { type Skeleton, startSkeleton, throughSkeleton } from "../rig/skeleton.ts";
import { startStack } from "../rig/stack.ts";
import { type HopStack, throughPep } from "./hop-targets.ts";

export interface HopRig extends HopStack {
  /** The build of an earlier commit, by default the first release; undefined where it cannot be built. */
  readonly earlier: HopStack | undefined;
  /** The same hop without any of the guarantees. */
  readonly skeleton: Skeleton;
}

/** The longest measured chain: the largest hop budget is 32, and the tool's hop is the last. */
export const longestChain = 31;

export async function prepareHopRig(bench: Bench, commit = firstReleaseCommit): Promise<HopRig> {
  const ours = await startWarm(bench, longestChain);
  const earlier = await startEarlier(bench, commit);
  const skeleton = await startSkeleton(bench);
  await warmUp(bench, throughSkeleton(skeleton));
  return { ...ours, earlier, skeleton };
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

async function startEarlier(bench: Bench, commit: string): Promise<HopStack | undefined> {
  const build = buildAt(commit);
  if ("checkout" in build) return startWarm(bench, 1, fromCheckout(build.checkout));
  bench.missing(commit === firstReleaseCommit ? "the first release" : commit, build.why);
  return undefined;
}

const warmingConnections = 32;

/**
 * Ours and its alternatives serve this many calls before they are measured. V8 compiles for some 30,000 calls at 32 at
 * once, the first release as this one, and anew for calls that come alone.
 */
const warmUps = ({ isQuick }: Bench["pace"]) => [
  { connections: warmingConnections, calls: isQuick ? 2_000 : 45_000 },
  { connections: 1, calls: isQuick ? 200 : 3_000 },
];

export const warmingCalls = (pace: Bench["pace"]): number => warmUps(pace).reduce((sum, { calls }) => sum + calls, 0);

/** Calls until this many responses, for a minute of each kind at most. */
export async function warmUp({ pace }: Bench, target: Target): Promise<void> {
  for (const { connections, calls } of warmUps(pace)) {
    const until = performance.now() + 60_000;
    for (let done = 0; done < calls && performance.now() < until; ) {
      done += (await load(target, connections, 0.5)).answered;
    }
  }
}
