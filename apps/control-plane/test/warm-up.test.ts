import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, poolOf, type Sql } from "../src/postgres/database.ts";
import { warmUp } from "../src/postgres/warm-up.ts";
import { query, startPlane } from "./support.ts";

let plane: Awaited<ReturnType<typeof startPlane>>;
beforeAll(async () => {
  plane = await startPlane({ SVC_DATABASE_CONNECTIONS: "20" });
});
afterAll(() => plane.stop());

const pools: Sql[] = [];
const pool = (url: string): Sql => {
  const sql = connect({ url, maxConnections: 3, statementTimeoutMs: 5_000 });
  pools.push(sql);
  return sql;
};
afterAll(() => Promise.all(pools.map((sql) => sql.end({ timeout: 1 }))));

/** How often each connection of a pool has planned a statement that begins so. */
async function planned(sql: Sql, beginning: string): Promise<readonly number[]> {
  const held = await Promise.all(Array.from({ length: sql.options.max }, () => sql.reserve()));
  const counts = held.map(async (connection) => {
    const [row] = await connection<{ count: number }[]>`
      select count(*)::int from pg_prepared_statements where ltrim(statement, E' \n') like ${`${beginning}%`}`;
    return row?.count ?? 0;
  });
  const all = await Promise.all(counts);
  for (const connection of held) connection.release();
  return all;
}

test("a ready process has open connections for hops and for its exclusive use", async () => {
  const [row] = await query<{ count: number }>(
    plane.database.superuserUrl,
    "select count(*)::int from pg_stat_activity where datname = current_database() and application_name = 'svc-control-plane'",
  );
  expect(row?.count).toBeGreaterThanOrEqual(13);
});

test("each connection has prepared the statements of hops, and no row is written", async () => {
  const [writer, reader] = [pool(plane.database.appUrl), pool(plane.database.appUrl)];
  await warmUp({ writer: poolOf(writer, 5_000), reader: poolOf(reader, 5_000) });
  expect(await planned(writer, "insert into decision")).toEqual([1, 1, 1]);
  expect(await planned(writer, "insert into spend")).toEqual([1, 1, 1]);
  expect(await planned(reader, "select %session_epoch")).toEqual([1, 1, 1]);
  expect(await query(plane.database.superuserUrl, "select from decision union all select from spend")).toEqual([]);
});

test("a database that refuses connections does not stop the start", async () => {
  const gone = Object.assign(new URL(plane.database.appUrl), { pathname: "/no_such_database" }).href;
  await warmUp({ writer: poolOf(pool(gone), 5_000), reader: poolOf(pool(gone), 5_000) });
});
