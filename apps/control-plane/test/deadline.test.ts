import { setImmediate as turn } from "node:timers/promises";
import { within } from "@svc/host";
import { createDatabase, requires, startRedis, type TestDatabase, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import type { ReplayGuard } from "../src/ports/replay-guard.ts";
import { bounded, connect, type Sql } from "../src/postgres/database.ts";
import { parseStoreAddress } from "../src/redis/address.ts";
import { redisGuard } from "../src/redis/guard.ts";

const { test } = requires("redis-server");

const deadlineMs = 50;

let database: TestDatabase;
let redis: Awaited<ReturnType<typeof startRedis>>;
let sql: Sql;
let guard: ReplayGuard;
beforeAll(async () => {
  [database, redis] = await Promise.all([createDatabase(), startRedis()]);
  sql = connect({ url: database.appUrl, maxConnections: 1, statementTimeoutMs: 5_000 });
  guard = redisGuard({ address: parseStoreAddress(redis.url), deadlineMs });
  await waitUntil("both to answer", async () => (await Promise.all([sql`select 1`, guard.ping()])).length === 2);
});
afterAll(async () => {
  await Promise.all([sql.end(), guard.close()]);
  await Promise.all([database.drop(), redis.stop()]);
});

const stores: readonly [string, () => Promise<unknown>][] = [
  ["the database", () => bounded(deadlineMs, sql`select pg_sleep(0.02)`)],
  ["the cache store", () => guard.claim({ key: "busy", actionId: "one", ttlSeconds: 1 })],
];

test.each(stores)("a busy process accepts a response of %s that arrived in time", async (_, ask) => {
  const answer = ask();
  // Both drivers write in a later turn of the event loop, which they schedule once this function waits: two turns.
  await turn();
  await turn();
  const end = performance.now() + 40 * deadlineMs;
  while (performance.now() < end);
  await answer;
});

test("a late response is an error", async () => {
  const late = new Error("late");
  await expect(within(deadlineMs, new Promise(() => {}), () => late)).rejects.toBe(late);
});
