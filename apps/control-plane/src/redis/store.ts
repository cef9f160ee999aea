import { createCluster, createSentinel, RedisClient } from "@redis/client";
import type { StoreAddress } from "./address.ts";

/** The commands of guard and rate limits. */
export interface Store {
  /** False while commands would wait for a connection. */
  isReady(): boolean;
  /** Of the last attempt to connect. */
  fault(): unknown;
  /** `SET NX PX GET`: null when written, else the existing value. */
  setIfAbsent(key: string, value: string, ttlMs: number): Promise<string | null>;
  evaluate(script: string, given: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** `INFO memory` of every server that takes writes. */
  memoryInfo(): Promise<readonly string[]>;
  /** Drops every connection; pending commands are rejected. */
  destroy(): void;
}

/** Connects in the background, and again after every loss. Never throws. */
export function connectStore(address: StoreAddress): Store {
  if (address.kind === "sentinel") return sentinelStore(address);
  if (address.kind === "cluster") return clusterStore(address);
  return singleStore(address);
}

/** No command waits for a reconnect. */
const connection = (address: StoreAddress) => ({
  disableOfflineQueue: true,
  disableClientInfo: true,
  maintNotifications: "disabled" as const,
  // Callers have a deadline. A timeout of the driver costs a signal and a timer per command.
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

const ignore = (): void => {};

/** Connects, and keeps the last fault: a command's caller gets its error, and without a listener the process would end. */
function connectInBackground(client: Pick<Client, "on" | "connect">): Pick<Store, "fault"> {
  let fault: unknown;
  const keep = (error: unknown): void => {
    fault = error;
  };
  client.on("error", keep);
  client.connect().catch(keep);
  return { fault: () => fault };
}

/** Uses the plain client: `createClient` allocates 22 MB at the start for a method per command. */
function singleStore(address: StoreAddress): Store {
  const shared = connection(address);
  const client = new RedisClient({
    ...shared,
    database: address.database,
    socket: { ...shared.socket, ...address.nodes[0] },
  });
  return {
    ...connectInBackground(client),
    isReady: () => client.isReady,
    setIfAbsent: (key, value, ttlMs) => client.sendCommand(["SET", key, value, "PX", `${ttlMs}`, "NX", "GET"]),
    evaluate: (script, given) =>
      client.sendCommand(["EVAL", script, `${given.keys.length}`, ...given.keys, ...given.arguments]),
    memoryInfo: async () => [await client.sendCommand<string>(["INFO", "memory"])],
    destroy: () => client.destroy(),
  };
}

function sentinelStore(address: StoreAddress): Store {
  const client = createSentinel({
    name: address.group,
    sentinelRootNodes: [...address.nodes],
    nodeClientOptions: { ...connection(address), database: address.database },
    sentinelClientOptions: connection({
      ...address,
      username: address.sentinelUsername,
      password: address.sentinelPassword,
    }),
    scanInterval: 1000,
  });
  return {
    ...commandsOf(client),
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
  return {
    ...commandsOf(client),
    memoryInfo: () =>
      Promise.all(client.masters.map(async (master) => (await client.nodeClient(master)).info("memory"))),
    destroy: () => client.destroy(),
  };
}

interface Client {
  readonly isReady: boolean;
  on(event: "error", listener: (error: unknown) => void): unknown;
  connect(): Promise<unknown>;
  set(key: string, value: string, options: ReturnType<typeof setOptions>): Promise<string | null>;
  eval: Store["evaluate"];
}

const setOptions = (ttlMs: number) =>
  ({ condition: "NX", GET: true, expiration: { type: "PX", value: ttlMs } }) as const;

function commandsOf(client: Client): Pick<Store, "isReady" | "fault" | "setIfAbsent" | "evaluate"> {
  return {
    ...connectInBackground(client),
    isReady: () => client.isReady,
    setIfAbsent: (key, value, ttlMs) => client.set(key, value, setOptions(ttlMs)),
    evaluate: (script, given) => client.eval(script, given),
  };
}
