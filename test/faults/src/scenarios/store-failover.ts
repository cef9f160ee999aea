import { type RedisCluster, type RedisSentinelGroup, waitUntil } from "@svc/test-support";
import { isWhole, moveSlots, primariesOf } from "../redis-cluster.ts";
import type { Scenario } from "../stand.ts";

/** The primary's last acknowledged writes are lost; the database has them. */
export const sentinelFailover: Scenario<RedisSentinelGroup> = {
  name: "Redis killed, and a replica promoted by Sentinel that lacked the newest entries",
  async inject({ deployment, load }) {
    const { primary, replica } = deployment.store;
    replica.freeze();
    await load.passes(30);
    await primary.kill();
    replica.thaw();
    await load.fails(4);
    await waitUntil("the replica to be promoted", async () =>
      String(await replica.command("ROLE")).startsWith("master"),
    );
    return 1;
  },
};

export const clusterFaults: readonly Scenario<RedisCluster>[] = [
  {
    name: "a third of a Redis Cluster's slots moved while they are in use",
    async inject({ deployment, load }) {
      await load.passes(10);
      await moveSlots(deployment.store, 5_000);
      await load.passes(10);
      return 1;
    },
  },
  {
    name: "a primary of a Redis Cluster killed, and its replica in its place",
    async inject({ deployment, load, random }) {
      const primaries = await primariesOf(deployment.store.nodes);
      const victim = random.shuffled(primaries)[0]?.node;
      if (victim === undefined) throw new Error("no primary is left");
      await victim.kill();
      const [other] = deployment.store.nodes.filter((node) => node !== victim);
      await waitUntil("the replica to be promoted", async () => other !== undefined && isWhole(other));
      await load.passes(20);
      await victim.restart();
      return 1;
    },
  },
];
