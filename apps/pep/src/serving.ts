import type { Server } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { type ListenAddress, listen } from "@svc/host";

export interface Serving {
  readonly port: number;
  readonly adminPort: number;
  /**
   * Serves on until the grace period nears its end, since the agent may outlive the signal (contract: Time budgets);
   * then takes no more, lets what is under way finish, and cuts what has not finished at the end.
   */
  drain(graceMs: number): Promise<void>;
}

export interface ServingOptions {
  readonly listen: ListenAddress;
  readonly adminListen: ListenAddress;
}

/** How much of the grace period is kept for calls under way; the rest is served. */
const longestFinishMs = 5_000;

export async function serve(proxy: Server, admin: Server, options: ServingOptions): Promise<Serving> {
  const administering = await listen(admin, options.adminListen);
  const proxying = await listen(proxy, options.listen);
  return {
    port: proxying.port,
    adminPort: administering.port,
    async drain(graceMs) {
      const finishMs = Math.min(longestFinishMs, graceMs / 2);
      await delay(graceMs - finishMs);
      await proxying.drain(finishMs);
      await administering.drain(0);
    },
  };
}
