import { setTimeout as delay } from "node:timers/promises";

const probeEveryMs = 250;

export interface Supervision {
  /** Starts nothing any more; resolves once no restart is under way. */
  end(): Promise<void>;
}

/**
 * Restarts a server whose process is gone: it crashed, or somebody killed it. One that merely does not answer is left
 * alone. A failed restart is tried again.
 */
export function supervise(isRunning: () => Promise<boolean>, restart: () => Promise<void>): Supervision {
  const ended = new AbortController();
  const watch = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await delay(probeEveryMs, undefined, { signal: ended.signal, ref: false }).catch(() => {});
      if (!ended.signal.aborted && !(await isRunning())) await restart().catch(() => {});
    }
  };
  const watching = watch();
  return {
    async end() {
      ended.abort();
      await watching;
    },
  };
}
