import { createDatabase, startFaultProxy, type TestDatabase, waitUntil } from "@svc/test-support";
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

test("a connection that is lost while it reads its types reconnects, and arrays are arrays", async () => {
  const network = await startFaultProxy(Number(new URL(database.appUrl).port));
  const url = Object.assign(new URL(database.appUrl), { port: String(network.port) }).href;
  const young = connect({ url, maxConnections: 1, statementTimeoutMs: 5_000 });
  try {
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
  } finally {
    await young.end({ timeout: 1 });
    await network.stop();
  }
});
