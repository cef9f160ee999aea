import { readProcesses, ticksOfTrees, ticksPerSecond } from "../machine/proc.ts";

/** Process trees by their role; a pid of 0 runs elsewhere and is not counted. */
export type Processes = Readonly<Record<string, number>>;

/** Counts processor time; the returned function ends it, in seconds by process, this one without its children. */
export function countCpu(processes: Processes): () => Readonly<Record<string, number>> {
  const read = () => {
    const all = readProcesses();
    return Object.entries(processes).map(([name, pid]) => [name, pid === 0 ? 0 : ticksOfTrees(all, [pid])] as const);
  };
  const before = read();
  const own = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(own);
    const after = read().map(([name, ticks], index) => {
      return [name, (ticks - (before[index]?.[1] ?? 0)) / ticksPerSecond] as const;
    });
    return { ...Object.fromEntries(after), load: (user + system) / 1e6 };
  };
}

/** Per call of `count`, as figures `cpu <name> us`; `cpu us` is the sum without the load generator. */
export function cpuFigures(seconds: Readonly<Record<string, number>>, count: number): Record<string, number> {
  const micros = Object.entries(seconds).map(([name, spent]) => [name, (spent * 1e6) / Math.max(1, count)] as const);
  const served = micros.filter(([name]) => name !== "load").reduce((sum, [, spent]) => sum + spent, 0);
  return { ...Object.fromEntries(micros.map(([name, spent]) => [`cpu ${name} us`, spent])), "cpu us": served };
}
