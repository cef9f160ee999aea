import { loaded } from "../measure/loaded.ts";
import type { Bench } from "../rig/bench.ts";
import { type LiveAgents, liveAgents } from "../rig/live-agents.ts";
import type { HopRig } from "./hop-rig.ts";
import { processesOf, throughPep } from "./hop-targets.ts";

export const wideTrial = "more of it";

/**
 * The same hop with more connections, and at the end of a longer chain. Above 64 calls a core the enforcement point
 * sheds with Retry-After: the clients wait for it, so a sample must last longer than that second.
 */
export async function hopWide(bench: Bench, { stack, line }: HopRig): Promise<void> {
  const processes = processesOf(stack, bench.stores);
  const short = await liveAgents(stack, line, 1, 256);
  const long = await liveAgents(stack, line, 16, 1);
  const seconds = Math.max(bench.pace.seconds, 2.5);
  const subject = (name: string, connections: number, agents: LiveAgents) =>
    loaded({ name, connections, seconds, processes, target: () => throughPep(stack, agents) });
  const subjects = [
    subject("32 connections", 32, short),
    subject("256 connections", 256, short),
    subject("chain of 1", 1, short),
    subject("chain of 16", 1, long),
  ];
  await bench.trial(wideTrial, subjects, bench.pace.closeRounds);
}
