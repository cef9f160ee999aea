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

/** A subject that is loaded over HTTP. */
export const loaded = ({ name, connections, seconds, processes, target }: LoadedOptions): Subject => ({
  name,
  async sample() {
    const prepared = await target();
    const count = countCpu(processes);
    const result = await load(prepared, connections, seconds);
    return { ...figuresOf(result), ...cpuFigures(count(), result.answered) };
  },
});
