import { setTimeout as delay } from "node:timers/promises";
import { startRelay } from "./relay.ts";

/** A node as a load balancer sees it: it gets connections while it is ready. */
export interface WatchedNode {
  /** On loopback. */
  readonly port: number;
  isServing(): boolean;
  stop(): Promise<void>;
}

const everyMs = 100;
const patienceMs = 1_000;

export async function watchNode(url: string): Promise<WatchedNode> {
  const { hostname: host, port } = new URL(url);
  const relay = await startRelay("127.0.0.1", { host, port: Number(port) });
  const ending = new AbortController();
  const watch = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await ((await isReady(url)) ? relay.open() : relay.close());
      await delay(everyMs, undefined, { signal: ending.signal }).catch(() => {});
    }
  };
  const watching = watch();
  return {
    port: relay.at.port,
    isServing: relay.isOpen,
    async stop() {
      ending.abort();
      await watching;
      await relay.close();
    },
  };
}

async function isReady(url: string): Promise<boolean> {
  try {
    const { status } = await fetch(`${url}/readyz`, {
      headers: { connection: "close" },
      signal: AbortSignal.timeout(patienceMs),
    });
    return status === 200;
  } catch {
    return false;
  }
}
