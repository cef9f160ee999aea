import { loaded } from "../measure/loaded.ts";
import type { Subject } from "../measure/trial.ts";
import type { Bench } from "../rig/bench.ts";
import { liveAgents } from "../rig/live-agents.ts";
import { pgbench } from "../rig/pgbench.ts";
import { findProgram } from "../rig/program.ts";
import { createRowTable } from "../rig/row-table.ts";
import { throughSkeleton } from "../rig/skeleton.ts";
import { tokenStock } from "../rig/tokens.ts";
import type { HopRig } from "./hop-rig.ts";
import { authorizing, hopsOf, processesOf, throughPep } from "./hop-targets.ts";
import { prepareParts } from "./limits.ts";

export const aloneTrial = "hop at 1";

/** One client: the latency of a hop, and of its decision alone, beside the parts of both. */
export async function hopAlone(bench: Bench, { stack, line, skeleton, earlier }: HopRig): Promise<void> {
  const { stores, pace } = bench;
  const processes = processesOf(stack, stores);
  const agents = await liveAgents(stack, line, 1, 1);
  const [credential] = await agents.current();
  if (credential === undefined) throw new Error("no agent was made");
  const tokens = tokenStock(stack.key, credential);
  const { seconds } = pace;
  const hop = loaded({ name: "hop", connections: 1, seconds, processes, target: () => throughPep(stack, agents) });
  const first = earlier && (await hopsOf(bench, "first release", earlier, 1));
  const authorize = loaded({
    name: "authorize",
    connections: 1,
    seconds,
    processes,
    async target() {
      await tokens.fill(Math.ceil(seconds * 3_000));
      return authorizing(stack, credential.sessionId, tokens);
    },
  });
  const bare = { connections: 1, seconds, processes: skeleton.processes };
  const skeletons = [
    loaded({ ...bare, name: "skeleton", target: () => throughSkeleton(skeleton) }),
    loaded({
      ...bare,
      name: "skeleton authorize",
      target: () => authorizing(skeleton, skeleton.sessionId, skeleton.tokens),
    }),
  ];
  const { alone } = await prepareParts(bench);
  await bench.trial(aloneTrial, [hop, first, authorize, ...skeletons, await onePgbench(bench, "pgbench", 1), ...alone]);
}

export async function onePgbench(bench: Bench, name: string, clients: number): Promise<Subject | undefined> {
  const program = findProgram("pgbench");
  if ("why" in program) {
    bench.missing("pgbench", program.why);
    return undefined;
  }
  const { superuserUrl: url } = await bench.stores.database();
  await createRowTable(url);
  const processes = { PostgreSQL: bench.stores.postgresPid };
  return pgbench({ path: program.path, name, url, clients, seconds: bench.pace.seconds, processes });
}
