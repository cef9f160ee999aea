import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import type { Random } from "@svc/test-support";

/** Takes the steps that wait in a random order: each to its end before the next one begins, or beside the next ones. */
export interface Interleaving {
  step<T>(work: () => Promise<T>): Promise<T>;
}

/** A step may wait for one that has not begun, as for a lock: then that one begins. */
const mostAloneMs = 50;

export function interleaving(random: Random): Interleaving {
  const waiting: (() => Promise<unknown>)[] = [];
  let isRunning = false;

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      // Those that the last step let go on arrive.
      await turn();
      const [next] = waiting.splice(random.below(waiting.length), 1);
      const ended = next?.();
      if (random.below(2) === 0) await Promise.race([ended, delay(mostAloneMs, undefined, { ref: false })]);
    }
    isRunning = false;
  }

  return {
    step: (work) =>
      new Promise((resolve, reject) => {
        waiting.push(() => work().then(resolve, reject));
        if (isRunning) return;
        isRunning = true;
        void run();
      }),
  };
}
