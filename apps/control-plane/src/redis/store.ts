import { createCluster, createSentinel, RedisClient } from "@redis/client";
import type { StoreAddress } from "./address.ts";

/** The commands of guard and rate limits over one connection, or one set of them. */
export interface Store {
  /** False while commands would wait for a connection. */
  isReady(): boolean;
  /** `SET NX PX GET`: null when written, else what stood there. */
  setIfAbsent(key: string, value: string, ttlMs: number): Promise<string | null>;
  deleteIfEqual(key: string, value: string): Promise<unknown>;
  evaluate(script: string, given: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** `INFO memory` of every server that takes writes. */
  memoryInfo(): Promise<readonly string[]>;
  /** Drops every connection; commands on their way are rejected. */
  destroy(): void;
}

/** Connects in the background and again after every loss; never throws. */
export function connectStore(address: StoreAddress): Store {
  if (address.kind === "sentinel") return sentinelStore(address);
  if (address.kind === "cluster") return clusterStore(address);
  return singleStore(address);
}

const releaseScript = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

const setOptions = (ttlMs: number) =>
  ({ condition: "NX", GET: true, expiration: { type: "PX", value: ttlMs } }) as const;
const releaseOptions = (key: string, value: string) => ({ keys: [key], arguments: [value] });

/** Of every connection: nothing waits for a lost one to come back. */
const connection = (address: StoreAddress) => ({
  disableOfflineQueue: true,
  disableClientInfo: true,
  maintNotifications: "disabled" as const,
  // Whoever asks has a deadline; one of the driver's is a signal and a timer for each command, which goes off unheard.
  commandOptions: { timeout: 0 },
  ...(address.username === undefined ? {} : { username: address.username }),
  ...(address.password === undefined ? {} : { password: address.password }),
  socket: socket(address),
});

const socket = (address: StoreAddress) => ({
  connectTimeout: 500,
  reconnectStrategy: (retries: number) => Math.min(50 * 2 ** retries, 500),
  ...(address.tls ? { tls: true as const } : {}),
});

/** Told to whoever issued a command; a listener must exist, or the process would end. */
const ignore = (): void => {};

/**
 * By the plain client: `createClient` first gives it a method for each of four hundred commands, which allocates 22 MB at the
 * start for the three that are sent here.
 */
function singleStore(address: StoreAddress): Store {
  const shared = connection(address);
  const client = new RedisClient({
    ...shared,
    database: address.database,
    socket: { ...shared.socket, ...address.nodes[0] },
  });
  client.on("error", ignore);
  client.connect().catch(ignore);
  const evaluate: Store["evaluate"] = (script, given) =>
    client.sendCommand(["EVAL", script, `${given.keys.length}`, ...given.keys, ...given.arguments]);
  return {
    isReady: () => client.isReady,
    setIfAbsent: (key, value, ttlMs) => client.sendCommand(["SET", key, value, "PX", `${ttlMs}`, "NX", "GET"]),
    deleteIfEqual: (key, value) => evaluate(releaseScript, releaseOptions(key, value)),
    evaluate,
    memoryInfo: async () => [await client.sendCommand<string>(["INFO", "memory"])],
    destroy: () => client.destroy(),
  };
}

function sentinelStore(address: StoreAddress): Store {
  const client = createSentinel({
    name: address.group,
    sentinelRootNodes: [...address.nodes],
    nodeClientOptions: { ...connection(address), database: address.database },
    sentinelClientOptions: {
      ...connection({ ...address, username: address.sentinelUsername, password: address.sentinelPassword }),
    },
    scanInterval: 1000,
  });
  client.on("error", ignore);
  client.connect().catch(ignore);
  return {
    isReady: () => client.isReady,
    setIfAbsent: (key, value, ttlMs) => client.set(key, value, setOptions(ttlMs)),
    deleteIfEqual: (key, value) => client.eval(releaseScript, releaseOptions(key, value)),
    evaluate: (script, given) => client.eval(script, given),
    memoryInfo: async () => [await client.info("memory")],
    destroy: () => void client.destroy().catch(ignore),
  };
}

function clusterStore(address: StoreAddress): Store {
  const defaults = connection(address);
  const client = createCluster({
    rootNodes: address.nodes.map((node) => ({ ...defaults, socket: { ...defaults.socket, ...node } })),
    defaults,
    topologyRefreshOnReconnectionAttemptStrategy: 500,
  });
  client.on("error", ignore);
  client.connect().catch(ignore);
  return {
    isReady: () => client.isReady,
    setIfAbsent: (key, value, ttlMs) => client.set(key, value, setOptions(ttlMs)),
    deleteIfEqual: (key, value) => client.eval(releaseScript, releaseOptions(key, value)),
    evaluate: (script, given) => client.eval(script, given),
    memoryInfo: () =>
      Promise.all(client.masters.map(async (master) => (await client.nodeClient(master)).info("memory"))),
    destroy: () => client.destroy(),
  };
}
