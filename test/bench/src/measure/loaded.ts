import { countCpu, cpuFigures, type Processes } from "./cpu.ts";
import { figuresOf, load, type Target } from "./load.ts";
import type { Subject } from "./trial.ts";

export interface LoadedOptions {
  readonly name: string;
  readonly connections: number;
  readonly seconds: number;
  /** Whose processor time is told, beside that of this process. */
  readonly processes: Processes;
  /** Asked before each sample: what must be fresh is made then. */
  readonly target: () => Target | Promise<Target>;
}

/** Seconds. */
const mostUncounted = 0.5;

/**
 * A subject that is loaded over HTTP. It had stood still while others were measured, and begins with what does not last: agents
 * whose tokens ran out come all at once, and caches are cold (after twelve seconds a hop's first 0.4 took 2,250 us each, those after
 * them 1,150 to 1,370). So each sample of many has a beginning that does not count; one client alone brings it on with one call.
 */
export const loaded = ({ name, connections, seconds, processes, target }: LoadedOptions): Subject => ({
  name,
  async sample() {
    const prepared = await target();
    if (connections > 1) await load(prepared, connections, Math.min(mostUncounted, seconds / 2));
    const count = countCpu(processes);
    const result = await load(prepared, connections, seconds);
    return { ...figuresOf(result), ...cpuFigures(count(), result.answered) };
  },
});
