import { setTimeout as delay } from "node:timers/promises";
import type { OwnRedis } from "@svc/test-support";
import type { Scenario } from "../stand.ts";

/** Every process of the deployment once, in an order and after delays that the seed chooses. */
export const killedProcesses: Scenario<OwnRedis> = {
  name: "kill -9 of every process",
  async inject({ deployment, load, random }) {
    const { database, store } = deployment;
    const victims = [
      ...[...deployment.controlPlanes, ...deployment.enforcementPoints],
      { kill: () => database.kill(), start: () => database.start() },
      { kill: () => store.kill(), start: () => store.restart() },
    ];
    for (const { kill, start } of random.shuffled(victims)) {
      // No condition is awaited: the moment is random.
      await delay(random.below(200));
      await kill();
      await delay(random.below(300));
      await start();
      await load.passes(10);
    }
    return victims.length;
  },
};
