import { loaded } from "../measure/loaded.ts";
import { registerLine } from "../rig/agents.ts";
import type { Bench } from "../rig/bench.ts";
import { liveAgents } from "../rig/live-agents.ts";
import { type Stack, startStack } from "../rig/stack.ts";
import { type HopRig, warmUp } from "./hop-rig.ts";
import { processesOf, throughPep } from "./hop-targets.ts";

export const tripsTrial = "hop in two trips and in one";

/** One hop at a time, and as many as are measured elsewhere. */
const crowds = [1, 32];

/** The enforcement point asks to decide and to exchange, as by default, or for both at once: the same hop otherwise. */
export async function hopTrips(bench: Bench, { stack, line }: HopRig): Promise<void> {
  const { stores, upstream } = bench;
  const inOne = bench.use(
    await startStack({
      ...{ stores, upstream: upstream.url },
      controlPlaneEnv: { SVC_ONE_TRIP_HOPS: "true" },
      pepEnv: () => ({ SVC_PEP_ONE_TRIP: "true" }),
    }),
  );
  const lineInOne = await registerLine(inOne.controlPlane.url, "bench", 1);
  await warmUp(bench, { stack: inOne, line: lineInOne });
  const subjects = [];
  for (const connections of crowds) {
    const subject = async (name: string, of: Stack, agentsOf: typeof line) => {
      const agents = await liveAgents(of, agentsOf, 1, connections);
      const target = () => throughPep(of, agents);
      return loaded({ name, connections, seconds: bench.pace.seconds, processes: processesOf(of, stores), target });
    };
    subjects.push(await subject(`two trips at ${connections}`, stack, line));
    subjects.push(await subject(`one trip at ${connections}`, inOne, lineInOne));
  }
  await bench.trial(tripsTrial, subjects);
}
