import { setTimeout as delay } from "node:timers/promises";
import { readMachine, readProcesses, ticksOfTrees } from "./proc.ts";

/** Tells what of the machine's time others took. */
export interface Watch {
  /** Process trees that are ours, by root, beside this process's own. */
  own(pid: number): void;
  /** Begins to count; the answer ends it with the share, 0 to 1, of all cores' time. */
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

export interface GateOptions {
  /** Share of the machine that others may take. */
  readonly atMost: number;
  readonly waitMs: number;
  /** How long to look before it is told whose the machine is. */
  readonly lookMs: number;
  readonly onWait: (foreign: number) => void;
}

/** Waits until the machine is ours alone, but not for ever: whoever measures on says what it was like. */
export async function whenIdle(watch: Watch, { atMost, waitMs, lookMs, onWait }: GateOptions): Promise<void> {
  const until = performance.now() + waitMs;
  for (;;) {
    const end = watch.begin();
    await delay(lookMs);
    const foreign = end();
    if (foreign <= atMost || performance.now() >= until) return;
    onWait(foreign);
  }
}
