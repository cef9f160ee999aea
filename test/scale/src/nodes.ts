import { type Api, createApi } from "@svc/test-conformance/api";
import { registerLedger } from "@svc/test-conformance/ledger";
import { startBalancer } from "@svc/test-faults/balancer";
import { startSixNodes } from "@svc/test-faults/redis-cluster";
import { type ControlPlane, createDatabase, startControlPlane, startOwnRedis, testBearers } from "@svc/test-support";
import { makeNamespace, type NetworkNamespace } from "./network-namespace.ts";
import { startRelay } from "./relay.ts";
import { type WatchedNode, watchNode } from "./watched-node.ts";

/** Two control planes of one issuer. */
export interface Nodes {
  readonly one: Api;
  readonly other: Api;
  stop(): Promise<void>;
}

export interface SeparateNodes extends Nodes {
  /** Of the load balancer before both. */
  readonly balanced: Api;
  /** The node behind `other`. */
  readonly otherNode: WatchedNode & Pick<NetworkNamespace, "cut" | "mend">;
}

export const scope = "books";
/** Calls that a session's tokens may make together. */
export const callsOfSession = 40;

const settings = { SVC_ISSUER: "https://issuer.test", SVC_RATE_LIMIT_PER_SESSION: `${callsOfSession}/600` };
const apiOf = (url: string): Api => createApi(url, testBearers);

/** On one machine, with replay guard and rate limits in a Redis Cluster of three primaries and three replicas. */
export async function startOnRedisCluster(): Promise<Nodes> {
  const [database, redis] = await Promise.all([createDatabase(), startSixNodes()]);
  const one = await startControlPlane({ database, redis }, settings);
  const other = await startControlPlane({ database, redis }, settings);
  await registerLedger(apiOf(one.url), scope);
  return {
    one: apiOf(one.url),
    other: apiOf(other.url),
    async stop() {
      await Promise.all([one.stop(), other.stop()]);
      await Promise.all([redis.stop(), database.drop()]);
    },
  };
}

/** Each in its own network namespace, behind a load balancer that checks the readiness of both. */
export async function startInNamespaces(): Promise<SeparateNodes> {
  const [database, redis] = await Promise.all([createDatabase(), startOwnRedis()]);
  const stores = { ...database, redisUrl: redis.url };
  const [one, other] = [await startNode(0, stores), await startNode(1, stores)];
  const balancer = await startBalancer([one.watched.port, other.watched.port]);
  await registerLedger(apiOf(one.controlPlane.url), scope);
  return {
    one: apiOf(one.controlPlane.url),
    other: apiOf(other.controlPlane.url),
    balanced: apiOf(`http://127.0.0.1:${balancer.port}`),
    otherNode: { ...other.watched, cut: other.namespace.cut, mend: other.namespace.mend },
    async stop() {
      await balancer.stop();
      await Promise.all([one.stop(), other.stop()]);
      await Promise.all([redis.stop(), database.drop()]);
    },
  };
}

interface Node {
  readonly controlPlane: ControlPlane;
  readonly namespace: NetworkNamespace;
  readonly watched: WatchedNode;
  stop(): Promise<void>;
}

interface StoreUrls {
  readonly appUrl: string;
  readonly ownerUrl: string;
  readonly redisUrl: string;
}

/** The stores listen on loopback, unreachable from the namespace: a relay at this end of the cable connects to each. */
async function startNode(number: number, { appUrl, ownerUrl, redisUrl }: StoreUrls): Promise<Node> {
  const namespace = await makeNamespace(number);
  const { gateway, address, within } = namespace;
  const [toDatabase, toRedis] = await Promise.all(
    [appUrl, redisUrl].map((url) => startRelay(gateway, { host: "127.0.0.1", port: Number(new URL(url).port) })),
  );
  if (toDatabase === undefined || toRedis === undefined) throw new Error("no relay");
  const through = (url: string, { at }: typeof toDatabase): string =>
    Object.assign(new URL(url), { hostname: at.host, port: String(at.port) }).href;
  const controlPlane = await startControlPlane(
    {
      database: { appUrl: through(appUrl, toDatabase), ownerUrl: through(ownerUrl, toDatabase) },
      redis: { url: through(redisUrl, toRedis) },
    },
    { ...settings, HOST: address },
    within,
  );
  const watched = await watchNode(controlPlane.url);
  return {
    controlPlane,
    namespace,
    watched,
    async stop() {
      await watched.stop();
      await controlPlane.stop();
      await Promise.all([toDatabase.close(), toRedis.close()]);
      await namespace.remove();
    },
  };
}
