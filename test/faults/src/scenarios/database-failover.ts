import type { OwnRedis } from "@svc/test-support";
import { startStandby } from "../postgres/standby.ts";
import type { Scenario, Stand } from "../stand.ts";
import { acknowledge, countedIn, seenPast } from "./restore.ts";

/** The address moves to the promoted standby, as a cluster manager does it. */
async function moveTo({ deployment }: Stand, port: number): Promise<void> {
  deployment.databaseAddress.aim([port]);
  deployment.databaseAddress.sever();
}

/** The standby has everything that the cache store knows of: this is no restore, and needs no operator. */
export const synchronousFailover: Scenario<OwnRedis> = {
  name: "PostgreSQL killed, and its synchronous standby promoted",
  async inject(stand) {
    const { deployment, load } = stand;
    const standby = await startStandby(deployment.database, "synchronous");
    deployment.alsoStop(standby.remove);
    await load.passes(30);
    await seenPast(deployment, await countedIn(standby));
    await deployment.database.kill();
    await load.fails(4);
    await standby.promote();
    await moveTo(stand, standby.port);
    return 1;
  },
};

/**
 * Acknowledged records are lost with the primary: hence the requirement of a synchronous standby. Tokens stay
 * single-use, since the cache store knows the spends that the new primary lacks; and as after any restore, nothing is
 * granted until the epoch is raised.
 */
export const asynchronousFailover: Scenario<OwnRedis> = {
  name: "PostgreSQL killed, and an asynchronous standby promoted that lacked the newest records",
  mayLose: [
    ...(["call_without_record", "call_without_spend", "chain_incomplete"] as const),
    ...(["privileged_without_transaction", "observed_without_record"] as const),
  ],
  async inject(stand) {
    const { deployment, load } = stand;
    const standby = await startStandby(deployment.database, "asynchronous");
    deployment.alsoStop(standby.remove);
    await load.passes(20);
    await standby.detach();
    await load.passes(40);
    await seenPast(deployment, await countedIn(standby));
    await deployment.database.kill();
    await load.fails(4);
    await standby.promote();
    await moveTo(stand, standby.port);
    await acknowledge(stand);
    return 1;
  },
};
