import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@svc/host/child-program";
import { createClient } from "redis";
import { type Child, startChild } from "./child.ts";
import { isThere, locate } from "./machine/locate.ts";
import { waitUntil } from "./wait-until.ts";

export interface RedisServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Our own server, which can be stopped, killed and started again. */
export interface OwnRedis extends RedisServer {
  readonly port: number;
  /** Sends one command, such as `command("CONFIG", "SET", "maxmemory", "1mb")`. */
  command(...args: string[]): Promise<unknown>;
  /** SIGSTOP: does not respond, and its connections stay open. */
  freeze(): void;
  thaw(): void;
  kill(): Promise<void>;
  /** Starts it on the same port, without its data. */
  restart(): Promise<void>;
}

/** The server of `REDIS_URL`, else our own. */
export async function startRedis(): Promise<RedisServer> {
  const url = process.env.REDIS_URL;
  return url === undefined ? startOwnRedis() : { url, stop: async () => {} };
}

/** Our own server; undefined where the machine has none, and control planes then guard replays in process. */
export const startRedisIfThere = async (): Promise<OwnRedis | undefined> =>
  isThere("redis-server") ? startOwnRedis() : undefined;

/** @param settings lines of its configuration file, as `["maxmemory 1mb"]` */
export async function startOwnRedis(
  settings: readonly string[] = [],
  flags: readonly string[] = [],
): Promise<OwnRedis> {
  const folder = mkdtempSync(join(tmpdir(), "svc-redis-"));
  const first = await startSomewhere(folder, settings, flags);
  const { port } = first;
  const start = () => startServer(folder, port, settings, flags);
  let { child } = first;
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    command: (...args) => sendCommand(port, args),
    freeze: () => child.kill("SIGSTOP"),
    thaw: () => child.kill("SIGCONT"),
    async kill() {
      child.kill("SIGKILL");
      await child.exited;
    },
    async restart() {
      await child.stop();
      child = await start();
    },
    async stop() {
      child.kill("SIGCONT");
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Another process may take the free port, or a cluster's second port, 10,000 above it. */
async function startSomewhere(folder: string, settings: readonly string[], flags: readonly string[]) {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    try {
      return { port, child: await startServer(folder, port, settings, flags) };
    } catch (cause) {
      if (attempt === 5 || !/already in use/.test(String((cause as Error).cause))) throw cause;
    }
  }
}

async function startServer(
  folder: string,
  port: number,
  settings: readonly string[],
  flags: readonly string[],
): Promise<Child> {
  const file = join(folder, "redis.conf");
  const always = ["bind 127.0.0.1", `port ${port}`, `dir ${folder}`, 'save ""', "appendonly no"];
  writeFileSync(file, [...always, ...settings, ""].join("\n"));
  const child = startChild(locate("redis-server"), [file, ...flags]);
  await waitUntil("Redis to respond or to exit", async () => {
    return child.hasExited() || (await sendCommand(port, ["PING"])) === "PONG";
  });
  if (child.hasExited()) throw new Error("Redis exited at its start", { cause: child.output() });
  return child;
}

async function sendCommand(port: number, args: readonly string[]): Promise<unknown> {
  const client = createClient({
    RESP: 2,
    socket: { host: "127.0.0.1", port, reconnectStrategy: false },
    disableClientInfo: true,
    maintNotifications: "disabled",
  });
  client.on("error", () => {});
  try {
    await client.connect();
    return await client.sendCommand(args);
  } finally {
    client.destroy();
  }
}
