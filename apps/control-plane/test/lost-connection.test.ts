import {
  createDatabase,
  type FaultProxy,
  promotedBytes,
  startFaultProxy,
  type TestDatabase,
  waitUntil,
} from "@svc/test-support";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bounded, connect, DatabaseUnavailable, type Sql, type Transaction } from "../src/postgres/database.ts";

let database: TestDatabase;
let admin: postgres.Sql;
let sql: Sql;
beforeAll(async () => {
  database = await createDatabase();
  admin = postgres(database.superuserUrl, { max: 1 });
  sql = connect({ url: database.appUrl, maxConnections: 2, statementTimeoutMs: 5_000 });
});
afterAll(async () => {
  await Promise.all([sql.end({ timeout: 1 }), admin.end()]);
  await database.drop();
});

/** What a server sends when an administrator ends a connection (PostgreSQL: Message Formats, ErrorResponse). */
const fields = ["SFATAL", "VFATAL", "C57P01", "Mterminating connection", ""].map((field) => `${field}\0`).join("");
const fatal = `E\0\0\0${String.fromCharCode(fields.length + 4)}${fields}`;

/** Ends the server's side of a transaction's connection, and waits until this side has closed too. */
async function loseConnection(tx: Transaction): Promise<void> {
  const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
  await admin`select pg_terminate_backend(${row?.pid ?? 0})`;
  const isClosed = () =>
    tx`select 1`.then(
      () => false,
      (error) => error.code === "CONNECTION_CLOSED",
    );
  await waitUntil("the connection to be lost", isClosed);
}

test("a transaction with a lost connection fails at every statement, and the process continues", async () => {
  const lost = sql.begin(async (tx) => {
    await loseConnection(tx);
    await expect(tx`select 2`).rejects.toThrow("CONNECTION_CLOSED");
    await tx`select 3`; // and the rollback that follows from its refusal
  });
  await expect(bounded(5_000, lost)).rejects.toThrow(DatabaseUnavailable);
});

test("the pool serves again after every connection was lost in a transaction", async () => {
  for (let times = 0; times < 5; times += 1) {
    const lost = [1, 2].map(() => bounded(5_000, sql.begin(loseConnection)));
    for (const { status } of await Promise.allSettled(lost)) expect(status).toBe("rejected");
  }
  const served = await Promise.all([1, 2, 3, 4].map((value) => bounded(5_000, sql`select ${value}::int as value`)));
  expect(served.map(([row]) => row?.value)).toEqual([1, 2, 3, 4]);
});

/** The one connection of a pool, by a network that can reset it. */
async function behindNetwork(work: (sql: Sql, network: FaultProxy) => Promise<void>): Promise<void> {
  const network = await startFaultProxy(Number(new URL(database.appUrl).port));
  const url = Object.assign(new URL(database.appUrl), { port: String(network.port) }).href;
  const one = connect({ url, maxConnections: 1, statementTimeoutMs: 60_000 });
  try {
    await work(one, network);
  } finally {
    await one.end({ timeout: 1 });
    await network.stop();
  }
}

test("a connection that was reset under a transaction's statement serves the next transaction", async () => {
  await behindNetwork(async (one, network) => {
    const sleep = (seconds: number) => one.begin((tx) => tx`select pg_sleep(${seconds})`);
    // Prepared by now, so that the rollback is sent between the error and the end of the connection.
    await sleep(0);
    const lost = expect(sleep(60)).rejects.toThrow();
    const asleep = () => admin`select from pg_stat_activity where wait_event = 'PgSleep'`;
    await waitUntil("the statement to run", async () => (await asleep()).length > 0);
    network.sever();
    await lost;
    await bounded(30_000, sleep(0));
  });
});

test("a transaction whose connection was lost runs nothing on the connection that took its place", async () => {
  await behindNetwork(async (one, network) => {
    const begun = Promise.withResolvers<Transaction>();
    const late = one.begin(async (tx) => {
      await tx`select 1`;
      begun.resolve(tx);
      await new Promise(() => {});
    });
    const tx = await begun.promise;
    network.sever();
    await expect(late).rejects.toThrow("CONNECTION_CLOSED");
    await waitUntil("others to be served", () => one`select 2`.then(Boolean, () => false));
    await expect(tx`select 3`).rejects.toThrow("CONNECTION_CLOSED");
    await bounded(30_000, one`select 4`);
  });
});

test("a connection that is lost while it reads its types reconnects, and arrays are arrays", async () => {
  await behindNetwork(async (young, network) => {
    network.spoil("pg_catalog.pg_type", { kind: "replaced", by: fatal });
    const early = bounded(5_000, young`select array['a'] as letters`).catch(() => {});
    await waitUntil("the types to be asked for", () => network.sent().includes("pg_catalog.pg_type"));
    network.heal();
    await early;
    const letters = async () => {
      const [row] = await bounded(5_000, young<{ letters: unknown }[]>`select array['a', 'b'] as letters`);
      return row?.letters;
    };
    expect(await waitUntil("the pool to serve again", letters)).toEqual(["a", "b"]);
  });
});

test("a statement and its result are collected young", async () => {
  const work = async () => {
    for (let n = 0; n < 6_000; n += 1) await sql`select ${`${n}`.padEnd(5_000)}::text as value`;
  };
  // Of 60 MB. Without the patch it is most.
  expect(await promotedBytes(work)).toBeLessThan(2_000_000);
});
