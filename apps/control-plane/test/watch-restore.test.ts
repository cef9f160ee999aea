import { embeddedWitness } from "@svc/embedded/cache";
import { createDatabase, type TestDatabase, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { watchRestore } from "../src/background/watch-restore.ts";
import type { HighWaterMarkCounter } from "../src/ports/restore-watch.ts";
import { RestoreUnacknowledged, RestoreUnknown } from "../src/ports/restore-watch.ts";
import { connect, poolOf, type Sql } from "../src/postgres/database.ts";
import { highWaterMarkCounter } from "../src/postgres/high-water-mark.ts";
import { migrate } from "../src/postgres/migrate.ts";
import { query } from "./support.ts";

const deployment = "0b1f5b2e-0000-4000-8000-000000000001";

/** A database whose count a test sets, and which raises it where it is allowed. */
function fakeDatabase(count: bigint) {
  const state = { deployment, count, raises: 0, isDown: false };
  const port: HighWaterMarkCounter = {
    async read() {
      if (state.isDown) throw new Error("no database");
      return { deployment: state.deployment, count: state.count };
    },
    async raise(seen) {
      state.raises++;
      if (state.count < seen.count) return undefined;
      state.count++;
      return state.count;
    },
  };
  return { state, port };
}

/** Watches with these stores; `told` are its reports. */
async function watched(counter: HighWaterMarkCounter, memory = embeddedWitness(), everyMs = 3_600_000) {
  const reports: string[] = [];
  const watch = await watchRestore({
    counter,
    store: memory,
    onBehind: () => reports.push("behind"),
    onFault: (error) => reports.push(`fault: ${(error as Error).message}`),
    everyMs,
  });
  return { watch, reports, memory };
}

const seenAt = async (count: bigint, of = deployment) => {
  const memory = embeddedWitness();
  await memory.keep({ deployment: of, count });
  return memory;
};

describe("a database", () => {
  test.each([
    ["without a kept mark is current", 3n, 0n, "current"],
    ["at its mark is current", 3n, 3n, "current"],
    ["above its mark is current", 4n, 3n, "current"],
    ["one below its mark is behind", 3n, 4n, "behind"],
  ])("%s", async (_name, count, seen, want) => {
    const { watch } = await watched(fakeDatabase(count).port, await seenAt(seen));
    expect(await watch.look()).toBe(want);
    watch.close();
  });

  test("is not compared with the mark of another deployment", async () => {
    const { watch } = await watched(fakeDatabase(0n).port, await seenAt(9n, "another"));
    expect(await watch.look()).toBe("current");
    watch.close();
  });

  test("that is raised between the two reads is not behind", async () => {
    const { state, port } = fakeDatabase(3n);
    const memory = embeddedWitness();
    const { watch } = await watched(port, {
      ...memory,
      async seen(of) {
        // Another process raises it at this moment, and keeps its mark.
        state.count += 1n;
        await memory.keep({ deployment: of, count: state.count });
        return memory.seen(of);
      },
    });
    expect(await watch.look()).toBe("current");
    watch.close();
  });
});

describe("while the database is behind", () => {
  test("its count is never raised, and one report is made", async () => {
    const { state, port } = fakeDatabase(3n);
    let looks = 0;
    const counting: HighWaterMarkCounter = {
      ...port,
      read() {
        looks++;
        return port.read();
      },
    };
    const { watch, reports } = await watched(counting, await seenAt(9n), 1);
    await waitUntil("ten looks", () => looks >= 20);
    watch.close();
    expect([state.raises, state.count, reports]).toEqual([0, 3n, ["behind"]]);
  });

  test("nothing is granted until it is above its mark", async () => {
    const { state, port } = fakeDatabase(3n);
    const { watch } = await watched(port, await seenAt(9n));
    expect(watch.requireAcknowledged).toThrow(RestoreUnacknowledged);
    state.count = (await watch.seen()) + 1n;
    expect(watch.requireAcknowledged).toThrow(RestoreUnacknowledged);
    expect(await watch.lookAfresh()).toBe("current");
    expect(watch.requireAcknowledged).not.toThrow();
    watch.close();
  });

  test("a store that stops responding does not change the result", async () => {
    const { state, port } = fakeDatabase(3n);
    const { watch } = await watched(port, await seenAt(9n));
    state.isDown = true;
    expect(await watch.look()).toBe("behind");
    expect(watch.requireAcknowledged).toThrow(RestoreUnacknowledged);
    expect(await watch.seen()).toBe(9n);
    watch.close();
  });
});

test("a process grants nothing before its first comparison", async () => {
  const { state, port } = fakeDatabase(3n);
  state.isDown = true;
  const { watch, reports } = await watched(port, embeddedWitness(), 1);
  expect([await watch.look(), reports]).toEqual(["unknown", ["fault: no database"]]);
  expect(watch.requireAcknowledged).toThrow(RestoreUnknown);
  state.isDown = false;
  await waitUntil("the comparison", async () => (await watch.look()) === "current");
  expect(watch.requireAcknowledged).not.toThrow();
  watch.close();
});

test("a database that is restored under a running process is detected", async () => {
  const { state, port } = fakeDatabase(3n);
  const { watch, reports, memory } = await watched(port, embeddedWitness(), 1);
  await waitUntil("the store to be told", async () => (await memory.seen(deployment)) >= 5n);
  state.count = 4n;
  await waitUntil("it to be noticed", () => reports.includes("behind"));
  expect(watch.requireAcknowledged).toThrow(RestoreUnacknowledged);
  watch.close();
});

test("the store keeps a count only after its commit, and never after a failed one", async () => {
  const { port } = fakeDatabase(3n);
  const failing: HighWaterMarkCounter = { ...port, raise: () => Promise.reject(new Error("unknown commit")) };
  const { watch, reports, memory } = await watched(failing);
  expect([await memory.seen(deployment), reports]).toEqual([0n, ["fault: unknown commit"]]);
  watch.close();
});

describe("the count of a real database", () => {
  let database: TestDatabase;
  let sql: Sql;
  let count: HighWaterMarkCounter;
  beforeAll(async () => {
    database = await createDatabase();
    await migrate(database);
    sql = connect({ url: database.appUrl, maxConnections: 8, statementTimeoutMs: 5_000 });
    count = highWaterMarkCounter(poolOf(sql, 5_000), poolOf(sql, 5_000));
  });
  afterAll(async () => {
    await sql.end();
    await database.drop();
  });
  const raisedAt = (moment: string) => query(database.ownerUrl, `update witness set raised_at = ${moment}`);

  test("is raised by one of eight processes, and not again within 1.5 s", async () => {
    await raisedAt("now() - interval '1 hour'");
    const before = await count.read();
    const raised = await Promise.all(Array.from({ length: 8 }, () => count.raise(before)));
    expect(raised.filter((each) => each !== undefined)).toEqual([before.count + 1n]);
    expect(await count.raise(before)).toBeUndefined();
    expect(await count.read()).toEqual({ ...before, count: before.count + 1n });
  });

  test("is raised after the server's clock was set back", async () => {
    await raisedAt("now() + interval '1 hour'");
    const before = await count.read();
    expect(await count.raise(before)).toBe(before.count + 1n);
  });

  test.each<[string, { readonly behind?: bigint; readonly of?: string }]>([
    ["below its mark", { behind: 1n }],
    ["for another deployment", { of: "0b1f5b2e-0000-4000-8000-000000000002" }],
  ])("is not raised %s", async (_name, { behind = 0n, of }) => {
    await raisedAt("now() - interval '1 hour'");
    const before = await count.read();
    expect(await count.raise({ deployment: of ?? before.deployment, count: before.count + behind })).toBeUndefined();
    expect(await count.read()).toEqual(before);
  });

  test("has one row, and each database its own deployment id", async () => {
    await expect(query(database.appUrl, "insert into witness default values")).rejects.toThrow(/witness_pkey/);
    const another = await createDatabase();
    await migrate(another);
    const [row] = await query<{ deployment: string }>(another.appUrl, "select deployment from witness");
    expect(row?.deployment).not.toBe((await count.read()).deployment);
    await another.drop();
  });
});
