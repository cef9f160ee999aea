import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

const probeEveryMs = 250;

export interface Supervision {
  /** Starts nothing any more; resolves once no restart is under way. */
  end(): Promise<void>;
}

/**
 * Restarts a server that no longer listens on its loopback port: it crashed, or somebody killed it. One that merely does
 * not answer is left alone. A failed restart is tried again.
 */
export function supervise(port: number, restart: () => Promise<void>): Supervision {
  const ended = new AbortController();
  const watch = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await delay(probeEveryMs, undefined, { signal: ended.signal, ref: false }).catch(() => {});
      if (!ended.signal.aborted && (await isRefused(port))) await restart().catch(() => {});
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

const isRefused = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = connect(port, "127.0.0.1");
    probe.unref();
    probe.once("connect", () => {
      probe.destroy();
      resolve(false);
    });
    probe.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
  });
