import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { settled, TestTime } from "@svc/test-support/test-time";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createRenewalPool, filePoolStore, type PoolStore } from "../src/index.ts";
import { SimulatedPlane } from "./support/simulated-plane.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "pool-"));
});
afterEach(() => rm(directory, { recursive: true }));

const snapshot = (expiresAt: number) => ({ sessionId: "s", tokens: [{ token: "t", expiresAt }] });
const far = Date.now() + 60_000;

test("a saved snapshot can be read by a later process, and by its owner only", async () => {
  await (await filePoolStore(directory)).save("key", snapshot(far));
  expect(await (await filePoolStore(directory)).load("key")).toEqual(snapshot(far));
  expect(await readdir(directory)).toEqual(["key.json"]);
  expect((await stat(join(directory, "key.json"))).mode & 0o777).toBe(0o600);
});

test("a folder it creates can be read by its owner only", async () => {
  const inner = join(directory, "deep", "state");
  await filePoolStore(inner);
  expect((await stat(inner)).mode & 0o777).toBe(0o700);
});

test("an unknown key loads as undefined and can be removed", async () => {
  const store = await filePoolStore(directory);
  expect(await store.load("key")).toBeUndefined();
  await store.remove("key");
  await store.save("key", snapshot(far));
  await store.remove("key");
  expect(await readdir(directory)).toEqual([]);
});

test("unfinished and expired files are removed at start; the record of a spent token and foreign files stay", async () => {
  const store = await filePoolStore(directory);
  await store.save("live", snapshot(far));
  await store.save("expired", snapshot(Date.now() - 1));
  await store.save("spent", { sessionId: "s", tokens: [] });
  await store.save("ancient", { sessionId: "s", tokens: [] });
  const twoDaysAgo = Date.now() / 1000 - 2 * 86_400;
  await utimes(join(directory, "ancient.json"), twoDaysAgo, twoDaysAgo);
  await writeFile(join(directory, "half.tmp"), "{");
  await writeFile(join(directory, "torn.json"), "{");
  await writeFile(join(directory, "README"), "");
  await filePoolStore(directory);
  expect((await readdir(directory)).sort()).toEqual(["README", "live.json", "spent.json", "torn.json"]);
});

test("a truncated file is an error, not an absence", async () => {
  await writeFile(join(directory, "torn.json"), "{");
  await expect((await filePoolStore(directory)).load("torn")).rejects.toThrow();
});

test("a snapshot that cannot be renamed leaves no file", async () => {
  await mkdir(join(directory, "key.json"));
  await expect((await filePoolStore(directory)).save("key", snapshot(far))).rejects.toThrow();
  expect(await readdir(directory)).toEqual(["key.json"]);
});

const budget = { deadlineMs: 1_000 };

test("a restarted process uses the stored tokens", async () => {
  const time = new TestTime();
  const plane = new SimulatedPlane(time);
  const presented = await plane.issue("agent");
  for (let life = 0; life < 10; life += 1) {
    const { now, monotonicMs, after } = time;
    const store = await filePoolStore(directory, now);
    const pool = createRenewalPool({ source: plane.source, store, now, monotonicMs, after });
    for (let call = 0; call < life; call += 1) {
      const result = await pool.lease(presented, budget);
      expect(result.kind === "leased" && plane.exchange(result.lease.token)).toBe(true);
    }
    await time.advance(20_000);
    await pool.close();
  }
  expect(plane.presentedAgain).toEqual([]);
});

test("a process killed at any moment leaves no token that the next one could present twice", async () => {
  const lives = fc.array(
    fc.record({
      calls: fc.integer({ min: 0, max: 12 }),
      waitMs: fc.integer({ min: 0, max: 40_000 }),
      breaths: fc.integer({ min: 0, max: 60 }),
    }),
    { maxLength: 8 },
  );
  await fc.assert(
    fc.asyncProperty(lives, async (script) => {
      const time = new TestTime();
      const plane = new SimulatedPlane(time);
      const presented = await plane.issue("agent");
      const shared = memoryStore();
      for (const { calls, waitMs, breaths } of script) {
        const life = mortal(shared, plane);
        const { now, monotonicMs, after } = time;
        const pool = createRenewalPool({ ...life, now, monotonicMs, after, random: () => 0.5 });
        await time.advance(waitMs);
        for (let call = 0; call < calls; call += 1) {
          void pool.lease(presented, budget).then((result) => {
            if (result.kind === "leased" && life.isAlive()) plane.exchange(result.lease.token);
          });
        }
        for (let breath = 0; breath < breaths; breath += 1) await Promise.resolve();
        life.kill();
      }
      await settled();
      expect(plane.presentedAgain).toEqual([]);
    }),
    { numRuns: 200 },
  );
});

/** One process's access to the store and the control plane: once it is killed, nothing it does arrives anywhere. */
function mortal(store: PoolStore, { source }: SimulatedPlane) {
  let alive = true;
  const whileAlive =
    <A extends unknown[], R>(act: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      alive ? act(...args) : new Promise(() => undefined);
  return {
    isAlive: () => alive,
    kill: () => {
      alive = false;
    },
    source: { renew: whileAlive(source.renew), ready: whileAlive(source.ready) },
    store: { load: whileAlive(store.load), save: whileAlive(store.save), remove: whileAlive(store.remove) },
  };
}

test("no renewed token is used before it is stored, and no used token is stored", async () => {
  const time = new TestTime();
  const plane = new SimulatedPlane(time);
  const presented = await plane.issue("root");
  const store = await filePoolStore(directory, time.now);
  const { now, monotonicMs, after } = time;
  const pool = createRenewalPool({ source: plane.source, store, now, monotonicMs, after });
  for (let call = 0; call < 20; call += 1) {
    const result = await pool.lease(presented, budget);
    if (result.kind !== "leased") throw new Error("not leased");
    const file = (await readdir(directory)).find((name) => name.endsWith(".json"));
    const text = await readFile(join(directory, file ?? ""), "utf8");
    expect(JSON.parse(text).tokens.length).toBeGreaterThan(0);
    expect(text).not.toContain(result.lease.token);
  }
  await pool.close();
});

test("while the state cannot be written no token is leased; afterwards none is missing", async () => {
  const time = new TestTime();
  const plane = new SimulatedPlane(time);
  const presented = await plane.issue("root");
  const memory = memoryStore();
  let isFull = true;
  const store: PoolStore = {
    ...memory,
    save: (key, snapshot) => (isFull ? Promise.reject(new Error("ENOSPC")) : memory.save(key, snapshot)),
  };
  const { now, monotonicMs, after } = time;
  const pool = createRenewalPool({ source: plane.source, store, now, monotonicMs, after });
  expect(await pool.lease(presented, budget)).toEqual({ kind: "unusable", fault: "state_unavailable" });
  expect(plane.renewals).toEqual([]);
  isFull = false;
  await time.advance(10_000);
  expect((await pool.lease(presented, budget)).kind).toBe("leased");
  await pool.close();
});

function memoryStore(): PoolStore {
  const snapshots = new Map<string, string>();
  return {
    load: async (key) => JSON.parse(snapshots.get(key) ?? "null") ?? undefined,
    save: async (key, snapshot) => void snapshots.set(key, JSON.stringify(snapshot)),
    remove: async (key) => void snapshots.delete(key),
  };
}
