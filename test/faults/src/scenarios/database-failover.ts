import type { OwnRedis } from "@svc/test-support";
import { startStandby } from "../postgres/standby.ts";
import type { Scenario, Stand } from "../stand.ts";
import { acknowledge, countedIn, seenPast } from "./restore.ts";

/** The address moves to the promoted standby, as a cluster's manager would move it. */
async function moveTo({ world }: Stand, port: number): Promise<void> {
  world.databaseAddress.aim([port]);
  world.databaseAddress.sever();
}

/** Whatever the cache store saw of the primary the standby has too: this is no restore, and nobody has to be asked. */
export const synchronousFailover: Scenario<OwnRedis> = {
  name: "PostgreSQL killed, and its synchronous standby promoted",
  async inject(stand) {
    const { world, load } = stand;
    const standby = await startStandby(world.database, "synchronous");
    world.alsoStop(standby.remove);
    await load.passes(30);
    await seenPast(world, await countedIn(standby));
    await world.database.kill();
    await load.fails(4);
    await standby.promote();
    await moveTo(stand, standby.port);
    return 1;
  },
};

/**
 * Acknowledged records are gone with the primary, whoever wrote them: that is why a synchronous standby is asked for. The
 * single use stands nevertheless, since the cache store remembers the spends that the new primary does not; and as after
 * any restore, nothing is granted until the epoch is raised.
 */
export const asynchronousFailover: Scenario<OwnRedis> = {
  name: "PostgreSQL killed, and an asynchronous standby promoted that lacked the newest records",
  mayLose: [
    ...(["call_without_record", "call_without_spend", "chain_incomplete"] as const),
    ...(["privileged_without_transaction", "observed_without_record"] as const),
  ],
  async inject(stand) {
    const { world, load } = stand;
    const standby = await startStandby(world.database, "asynchronous");
    world.alsoStop(standby.remove);
    await load.passes(20);
    await standby.detach();
    await load.passes(40);
    await seenPast(world, await countedIn(standby));
    await world.database.kill();
    await load.fails(4);
    await standby.promote();
    await moveTo(stand, standby.port);
    await acknowledge(stand);
    return 1;
  },
};
