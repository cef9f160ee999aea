import { setTimeout as delay } from "node:timers/promises";
import { readMachine, readProcesses, ticksOfTrees } from "./proc.ts";

/** Measures the share of the machine's time that other processes took. */
export interface Watch {
  /** Roots of our own process trees, beside this process. */
  own(pid: number): void;
  /** Begins to count; the returned function ends it with the share, 0 to 1, of all cores' time. */
  begin(): () => number;
}

export function createWatch(): Watch {
  const roots = new Set([process.pid]);
  const read = () => ({ machine: readMachine(), own: ticksOfTrees(readProcesses(), [...roots]) });
  return {
    own: (pid) => void roots.add(pid),
    begin() {
      const before = read();
      return () => {
        const after = read();
        const passed = after.machine.passed - before.machine.passed;
        const foreign = after.machine.worked - before.machine.worked - (after.own - before.own);
        return passed === 0 ? 0 : Math.max(0, foreign / passed);
      };
    },
  };
}

export interface Patience {
  leftMs: number;
}

export interface GateOptions {
  /** Share of the machine that others may take. */
  readonly atMost: number;
  /** For one sample, at the most. */
  readonly waitMs: number;
  /** For the whole run: a machine that is never idle is measured too. */
  readonly patience: Patience;
  /** Length of one look at the machine. */
  readonly lookMs: number;
  readonly onWait: (foreign: number) => void;
}

/** Waits until the machine is idle or the wait is over; the caller measures either way and records the share. */
export async function whenIdle(watch: Watch, options: GateOptions): Promise<void> {
  const { atMost, waitMs, patience, lookMs, onWait } = options;
  const startedMs = performance.now();
  const untilMs = startedMs + Math.min(waitMs, patience.leftMs);
  for (;;) {
    const end = watch.begin();
    await delay(lookMs);
    const foreign = end();
    if (foreign <= atMost) return;
    if (performance.now() >= untilMs) {
      patience.leftMs -= performance.now() - startedMs;
      return;
    }
    onWait(foreign);
  }
}
