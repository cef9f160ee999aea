import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type OwnRedis, type RedisCluster, startOwnRedis, waitUntil } from "@svc/test-support";

const run = promisify(execFile);

/** Three primaries, each with a replica that is promoted about a second after its failure. */
export async function startSixNodes(): Promise<RedisCluster> {
  const settings = ["cluster-enabled yes", "cluster-node-timeout 1000"];
  const nodes = await Promise.all([1, 2, 3, 4, 5, 6].map(() => startOwnRedis(settings)));
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  await manage("create", ...addresses, "--cluster-replicas", "1");
  for (const node of nodes) await waitUntil("the cluster to agree", () => isWhole(node));
  return {
    url: `redis+cluster://${addresses.join(",")}`,
    nodes,
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

/** Moves `slots` slots of one primary to another, with their entries, while they are in use. */
export async function moveSlots({ nodes }: RedisCluster, slots: number): Promise<void> {
  const [from, to] = await primariesOf(nodes);
  if (from === undefined || to === undefined) throw new Error("fewer than two primaries are left");
  await manage(
    "reshard",
    `127.0.0.1:${from.node.port}`,
    ...["--cluster-from", from.id, "--cluster-to", to.id, "--cluster-slots", String(slots)],
  );
}

interface Primary {
  readonly node: OwnRedis;
  readonly id: string;
}

export async function primariesOf(nodes: readonly OwnRedis[]): Promise<readonly Primary[]> {
  const all = await Promise.all(
    nodes.map(async (node) => ({
      node,
      id: String(await node.command("CLUSTER", "MYID")),
      role: String(await node.command("ROLE")),
    })),
  );
  return all.filter(({ role }) => role.startsWith("master"));
}

export async function isWhole(node: OwnRedis): Promise<boolean> {
  return String(await node.command("CLUSTER", "INFO")).includes("cluster_state:ok");
}

const manage = (...args: readonly string[]) => run("redis-cli", ["--cluster", ...args, "--cluster-yes"]);
