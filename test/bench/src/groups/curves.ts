import { loaded } from "../measure/loaded.ts";
import type { Subject } from "../measure/trial.ts";
import { registerLine } from "../rig/agents.ts";
import type { Bench } from "../rig/bench.ts";
import { liveAgents } from "../rig/live-agents.ts";
import { registerMany } from "../rig/many-agents.ts";
import { startStack } from "../rig/stack.ts";
import { readsOf } from "./audit.ts";
import { type HopRig, longestChain } from "./hop-rig.ts";
import { processesOf, throughPep } from "./hop-targets.ts";

/** A curve is a trial whose subjects are named by the growing value. */
export const curveNames = {
  connections: "by connections",
  chains: "by chain",
  agents: "by agents and tools",
  rows: "by rows",
} as const;

export async function byConnections(bench: Bench, { stack, line }: HopRig): Promise<void> {
  const agents = await liveAgents(stack, line, 1, 256);
  const counts = bench.pace.isQuick ? [1, 8, 32, 256] : [1, 2, 4, 8, 16, 32, 64, 128, 256];
  const subjects = counts.map((connections) =>
    loaded({
      name: String(connections),
      connections,
      seconds: Math.max(bench.pace.seconds, connections > 128 ? 2.5 : 0),
      processes: processesOf(stack, bench.stores),
      target: () => throughPep(stack, agents),
    }),
  );
  await bench.trial(curveNames.connections, subjects);
}

/** In agents between the person and the tool. The largest hop budget is 32, so the curve ends there. */
export async function byChain(bench: Bench, { stack, line }: HopRig): Promise<void> {
  const subjects: Subject[] = [];
  for (const chain of bench.pace.isQuick ? [1, 8, longestChain] : [1, 2, 4, 8, 16, longestChain]) {
    const agents = await liveAgents(stack, line, chain, 1);
    subjects.push(alone(bench, { stack }, String(chain), () => throughPep(stack, agents)));
  }
  await bench.trial(curveNames.chains, subjects);
}

export async function byAgents(bench: Bench): Promise<void> {
  const subjects: Subject[] = [];
  for (const count of bench.pace.isQuick ? [10, 100] : [10, 100, 1_000, 10_000]) {
    const stack = bench.use(await startStack({ stores: bench.stores, upstream: bench.upstream.url }));
    await registerMany(stack.controlPlane.url, "bench", count);
    const line = await registerLine(stack.controlPlane.url, "bench", 1);
    const agents = await liveAgents(stack, line, 1, 1);
    subjects.push(alone(bench, { stack }, String(count), () => throughPep(stack, agents)));
  }
  await bench.trial(curveNames.agents, subjects);
}

export async function byRows(bench: Bench): Promise<void> {
  const subjects: Subject[] = [];
  const exponents = bench.pace.isQuick ? [4, 5] : [4, 5, 6];
  for (const exponent of exponents) subjects.push(...(await readsOf(bench, `10^${exponent}`, 10 ** exponent)));
  await bench.trial(curveNames.rows, subjects);
}

export const alone = (
  bench: Bench,
  { stack }: Pick<HopRig, "stack">,
  name: string,
  target: Parameters<typeof loaded>[0]["target"],
): Subject =>
  loaded({ name, connections: 1, seconds: bench.pace.seconds, processes: processesOf(stack, bench.stores), target });
