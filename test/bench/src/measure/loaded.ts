import { countCpu, cpuFigures, type Processes } from "./cpu.ts";
import { figuresOf, load, type Target } from "./load.ts";
import type { Subject } from "./trial.ts";

export interface LoadedOptions {
  readonly name: string;
  readonly connections: number;
  readonly seconds: number;
  /** Processes whose processor time is reported, beside this one. */
  readonly processes: Processes;
  /** Called before each sample, to make fresh tokens. */
  readonly target: () => Target | Promise<Target>;
}

/** Seconds. */
const mostUncounted = 0.5;

/**
 * A subject under HTTP load. It was idle while others were measured, so tokens have expired and caches are cold (after
 * twelve idle seconds the first 0.4 s of hops took 2,250 us each, later ones 1,150 to 1,370). So each sample with many
 * connections begins with an uncounted part; with one client, one call is enough.
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
