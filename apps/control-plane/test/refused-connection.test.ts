import { createDatabase, type TestDatabase } from "@svc/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bounded, connect, DatabaseUnavailable } from "../src/postgres/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const changed = (change: Partial<URL>) => () => Object.assign(new URL(database.appUrl), change).href;

test.each<[string, () => string]>([
  ["an unknown account", changed({ username: "nobody" })],
  ["an unknown database", changed({ pathname: "/nowhere" })],
  ["a database without connections", changed({ pathname: "/template0" })],
])("a connection that is refused for %s is DatabaseUnavailable", async (_name, url) => {
  const sql = connect({ url: url(), maxConnections: 1, statementTimeoutMs: 1_000 });
  await expect(bounded(5_000, sql`select 1`)).rejects.toThrow(DatabaseUnavailable);
  await sql.end();
});
