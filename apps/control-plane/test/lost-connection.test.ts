import { createDatabase, type TestDatabase, waitUntil } from "@svc/test-support";
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

test("a transaction whose connection is lost is refused, statement after statement, and the process lives on", async () => {
  const lost = sql.begin(async (tx) => {
    await loseConnection(tx);
    await expect(tx`select 2`).rejects.toThrow("CONNECTION_CLOSED");
    await tx`select 3`; // and the rollback that follows from its refusal
  });
  await expect(bounded(5_000, lost)).rejects.toThrow(DatabaseUnavailable);
});

test("after every connection was lost within a transaction the pool serves again", async () => {
  const lost = [1, 2].map(() => bounded(5_000, sql.begin(loseConnection)));
  for (const { status } of await Promise.allSettled(lost)) expect(status).toBe("rejected");
  const served = await Promise.all([1, 2, 3, 4].map((value) => bounded(5_000, sql`select ${value}::int as value`)));
  expect(served.map(([row]) => row?.value)).toEqual([1, 2, 3, 4]);
});
