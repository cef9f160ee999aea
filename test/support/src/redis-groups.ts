import { type OwnRedis, type RedisServer, startOwnRedis } from "./redis.ts";
import { waitUntil } from "./wait-until.ts";

/** A primary and its replica behind one sentinel, which promotes the replica within about two seconds. */
export interface RedisSentinelGroup extends RedisServer {
  readonly primary: OwnRedis;
  readonly replica: OwnRedis;
}

const group = "mymaster";

export async function startRedisSentinel(): Promise<RedisSentinelGroup> {
  const primary = await startOwnRedis();
  const replica = await startOwnRedis([`replicaof 127.0.0.1 ${primary.port}`]);
  await waitUntil("the replica to be in sync", async () =>
    String(await replica.command("INFO", "replication")).includes("master_link_status:up"),
  );
  const sentinel = await startOwnRedis(
    [
      `sentinel monitor ${group} 127.0.0.1 ${primary.port} 1`,
      `sentinel down-after-milliseconds ${group} 500`,
      `sentinel failover-timeout ${group} 2000`,
    ],
    ["--sentinel"],
  );
  await waitUntil("the sentinel to know the replica", async () =>
    JSON.stringify(await sentinel.command("SENTINEL", "REPLICAS", group)).includes(String(replica.port)),
  );
  return {
    url: `redis+sentinel://127.0.0.1:${sentinel.port}/${group}`,
    primary,
    replica,
    stop: () => stopAll([sentinel, replica, primary]),
  };
}

export interface RedisCluster extends RedisServer {
  readonly nodes: readonly OwnRedis[];
}

const slots = 16_384;

/** Three primaries that share the slots. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const settings = ["cluster-enabled yes", "cluster-node-timeout 1000"];
  const nodes = await Promise.all([1, 2, 3].map(() => startOwnRedis(settings)));
  const share = Math.ceil(slots / nodes.length);
  for (const [index, node] of nodes.entries()) {
    const last = Math.min((index + 1) * share, slots) - 1;
    await node.command("CLUSTER", "ADDSLOTSRANGE", String(index * share), String(last));
    for (const other of nodes) await node.command("CLUSTER", "MEET", "127.0.0.1", String(other.port));
  }
  for (const node of nodes) {
    await waitUntil("the cluster to agree", async () => {
      const info = String(await node.command("CLUSTER", "INFO"));
      return info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${nodes.length}`);
    });
  }
  return {
    url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(",")}`,
    nodes,
    stop: () => stopAll(nodes),
  };
}

const stopAll = async (servers: readonly OwnRedis[]): Promise<void> => {
  await Promise.all(servers.map((server) => server.stop()));
};
