import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ControlPlane,
  createMigratedDatabase,
  type OwnRedis,
  requires,
  startControlPlane,
  startOwnRedis,
  type TestDatabase,
  waitUntil,
} from "@svc/test-support";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { createAdmin, type Hop, type Session } from "./src/telemetry/admin.ts";
import { ask } from "./src/telemetry/ask.ts";
import { readScrape, rising, type Scrape, total } from "./src/telemetry/exposition.ts";
import { childrenOf, isRunning, remotePortsOf } from "./src/telemetry/processes.ts";

const { describe, test } = requires("redis-server");

const tool: Hop = { target: "http:ledger/read", target_kind: "tool", data_class: "finance" };
const agents = { clerk: { books: { hop_budget: 2, tools: [{ ref: tool.target, data_classes: ["finance"] }] } } };

let database: TestDatabase;
let redis: OwnRedis;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  [database, redis] = await Promise.all([createMigratedDatabase(), startOwnRedis()]);
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});
afterAll(async () => {
  await redis.stop();
  await database.drop();
});

const metricsFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "svc-metrics-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

/** Serves with this many workers, all of them up. */
async function start(workers: number, env: Record<string, string> = {}): Promise<ControlPlane> {
  const controlPlane = await startControlPlane({ database, redis }, { SVC_WORKERS: String(workers), ...env });
  cleanups.push(() => controlPlane.stop());
  await everyWorker(controlPlane, workers);
  return controlPlane;
}

/** A worker is up once it is connected to the database. */
const everyWorker = ({ pid }: ControlPlane, count: number): Promise<number[] | false> =>
  waitUntil(`${count} workers`, () => {
    const workers = childrenOf(pid).filter((worker) => remotePortsOf(worker).includes(databasePort()));
    return workers.length === count && workers;
  });
const databasePort = () => Number(new URL(database.appUrl).port);

async function openSession({ url }: ControlPlane): Promise<Session> {
  const admin = createAdmin(url);
  for (const [name, scopes] of Object.entries(agents)) await admin.register(name, scopes);
  return admin.consent("books", "ada");
}

/** Each on its own connection, so that the workers share the requests. */
const decide = ({ url }: ControlPlane, session: Session) => createAdmin(url).authorize(session, tool);
const scrape = async ({ url }: ControlPlane): Promise<Scrape> => readScrape((await ask(url, "/metrics")).text);
const allows = (scraped: Scrape) => total(scraped, "svc_decisions_total", { outcome: "allow" });

/** Series that were higher before. */
function fallen(before: Scrape, after: Scrape): string[] {
  const values = new Map(after.samples.map(({ series, value }) => [series, value]));
  return rising(before)
    .filter(({ series, value }) => (values.get(series) ?? -1) < value)
    .map(({ series, value }) => `${series}: ${value} -> ${values.get(series)}`);
}

describe("with a shared metrics folder", () => {
  // The kernel picks the worker of a connection: one may have had none, and so no file.
  test("any worker returns the metrics of all", async () => {
    const controlPlane = await start(3, { PROMETHEUS_MULTIPROC_DIR: metricsFolder() });
    const session = await openSession(controlPlane);
    await Promise.all(Array.from({ length: 60 }, () => decide(controlPlane, session)));
    await waitUntil("the metrics of every worker", async () => allows(await scrape(controlPlane)) === 60);
    const answers = await Promise.all(Array.from({ length: 12 }, () => scrape(controlPlane)));
    expect(answers.map(allows)).toEqual(Array(12).fill(60));
  });

  test("no counter decreases while workers are killed under load; each is replaced, and its counts remain", async () => {
    const folder = metricsFolder();
    const controlPlane = await start(3, { PROMETHEUS_MULTIPROC_DIR: folder });
    const session = await openSession(controlPlane);
    let isOver = false;
    let answered = 0;
    const load = async () => {
      while (!isOver) if ((await decide(controlPlane, session).catch(() => undefined))?.status === 200) answered += 1;
    };
    const falls: string[] = [];
    let before = await scrape(controlPlane);
    const watch = async () => {
      while (!isOver) {
        const after = await scrape(controlPlane).catch(() => before);
        falls.push(...fallen(before, after));
        before = after;
      }
    };
    const running = [load(), load(), load(), load(), watch()];
    const first = childrenOf(controlPlane.pid);
    for (const [index, victim] of first.entries()) {
      const reached = answered + 50;
      await waitUntil("the load to continue", () => answered > reached);
      process.kill(victim, "SIGKILL");
      await waitUntil("its end", () => !childrenOf(controlPlane.pid).includes(victim));
      await everyWorker(controlPlane, 3);
      expect(controlPlane.output().match(/another takes its place/g)).toHaveLength(2 * (index + 1));
    }
    isOver = true;
    await Promise.all(running);
    expect(falls).toEqual([]);
    expect(childrenOf(controlPlane.pid).filter((worker) => first.includes(worker))).toEqual([]);
    // A killed worker loses what it counted in its last 100 ms, but none that was scraped.
    expect(allows(await scrape(controlPlane))).toBeGreaterThanOrEqual(allows(before));
    expect(allows(before)).toBeGreaterThan(0);
    const left = first.filter((pid) => readdirSync(folder).some((name) => name.startsWith(`${pid}-`)));
    expect(left).toEqual([]);
  });

  test("a worker's exit is one WARNING with a static message", async () => {
    const controlPlane = await start(2, { PROMETHEUS_MULTIPROC_DIR: metricsFolder() });
    process.kill(childrenOf(controlPlane.pid)[0] ?? 0, "SIGKILL");
    await waitUntil("the log line", () => controlPlane.stdout().includes("another takes its place"));
    const lines = controlPlane
      .stdout()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toEqual([
      {
        level: "warn",
        time: expect.any(String),
        "authz.component": "control_plane",
        msg: "a worker ended; another takes its place",
      },
    ]);
  });
});

test("without a metrics folder a WARNING reports that a scrape covers one worker", async () => {
  const controlPlane = await start(2);
  const message = "several workers serve, and a scrape sees only one of them";
  const warning = `WARNING: ${message}: PROMETHEUS_MULTIPROC_DIR`;
  await waitUntil("the warning", () => controlPlane.output().includes(warning));
  await waitUntil("a log line", () => controlPlane.stdout().includes("\n"));
  expect(JSON.parse(controlPlane.stdout().split("\n")[0] ?? "")).toMatchObject({ level: "warn", msg: message });
});

test("the supervisor has no connection to a store; its workers have", async () => {
  const controlPlane = await start(2);
  await waitUntil("its workers to start", () =>
    childrenOf(controlPlane.pid).every((worker) => remotePortsOf(worker).includes(redis.port)),
  );
  expect(remotePortsOf(controlPlane.pid)).toEqual([]);
});

/** A request whose body is sent later, so that it stays open until then. */
function decideSlowly({ url }: ControlPlane, { id, token }: Session) {
  const sending = request(`${url}/v1/authorize`, {
    method: "POST",
    agent: false,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  });
  const status = new Promise<number | undefined>((resolve, reject) => {
    sending.on("error", reject).on("response", (response) => resolve(response.resume().statusCode));
  });
  sending.flushHeaders();
  return { status, finish: () => sending.end(JSON.stringify({ session_id: id, ...tool })) };
}

test("SIGTERM drains every worker: open requests are answered, and every process exits with 0", async () => {
  const controlPlane = await start(3);
  const session = await openSession(controlPlane);
  const workers = childrenOf(controlPlane.pid);
  const underWay = Array.from({ length: 12 }, () => decideSlowly(controlPlane, session));
  expect((await decide(controlPlane, session)).status).toBe(200);
  const ended = controlPlane.shutDown();
  await waitUntil("it to be no longer ready", async () => (await ask(controlPlane.url, "/readyz")).status === 503);
  const served = await Promise.all(underWay.map(() => decide(controlPlane, session)));
  expect(new Set(served.map(({ status }) => status))).toEqual(new Set([200]));
  await waitUntil("the port to be closed", () => decide(controlPlane, session).then(() => false, isRefused));
  for (const { finish } of underWay) finish();
  expect(await Promise.all(underWay.map(({ status }) => status))).toEqual(Array(12).fill(200));
  expect(await ended).toBe(0);
  expect(workers.filter(isRunning)).toEqual([]);
});

const isRefused = (error: NodeJS.ErrnoException): boolean => error.code === "ECONNREFUSED";

test("no worker outlives its supervisor, also after SIGKILL", async () => {
  const controlPlane = await start(2);
  const workers = childrenOf(controlPlane.pid);
  controlPlane.kill("SIGKILL");
  await waitUntil("the workers to exit", () => !workers.some(isRunning));
});

test("a failed start of the first worker is logged once, and stops the others", async () => {
  const settings = { SVC_WORKERS: "4", PROMETHEUS_MULTIPROC_DIR: "/nowhere/metrics" };
  const failed = await startControlPlane({ database, redis }, settings).catch((error: Error) => error);
  expect(failed).toBeInstanceOf(Error);
  expect(String(failed).match(/ENOENT/g)).toHaveLength(1);
});

test("workers in development share the generated tokens", async () => {
  const controlPlane = await start(2, { SVC_DEV: "true", SVC_ADMIN_TOKEN: "", SVC_TELEMETRY_KEY: "" });
  const token = await waitUntil(
    "the printed token",
    () => /admin token for development: (\S+)\n/.exec(controlPlane.output())?.[1] ?? false,
  );
  const requests = Array.from({ length: 8 }, () => createAdmin(controlPlane.url).get("/v1/agents", token));
  expect((await Promise.all(requests)).map(({ status }) => status)).toEqual(Array(8).fill(200));
});
