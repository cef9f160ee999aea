import { createDatabase, type TestDatabase } from "@svc/test-support";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fewestConnections, poolSizesOf, requireRoom } from "../src/postgres/connections.ts";
import { query } from "./support.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

test("the pools of a process share all its connections, at least two each", () =>
  fc.assert(
    fc.property(fc.integer({ min: fewestConnections, max: 1_000 }), (connections) => {
      const { health, ...pools } = poolSizesOf(connections);
      expect(health).toBe(1);
      for (const size of Object.values(pools)) expect(size).toBeGreaterThanOrEqual(2);
      const claim = 1;
      expect(Object.values(pools).reduce((sum, size) => sum + size, claim + health)).toBe(connections);
      expect(pools.writer).toBeGreaterThanOrEqual(pools.audit);
    }),
  ));

test("a process starts where the server has enough connections", async () => {
  await requireRoom(database.appUrl, { processes: 2, connections: 20 });
});

test("a process does not start where the server has too few connections, and names the settings to change", async () => {
  const [row] = await query<{ admitted: number }>(
    database.appUrl,
    `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as admitted`,
  );
  const admitted = row?.admitted ?? 0;
  await requireRoom(database.appUrl, { processes: 1, connections: admitted });
  await expect(requireRoom(database.appUrl, { processes: 1, connections: admitted + 1 })).rejects.toThrow(
    `admits ${admitted} connections, and ${admitted + 1} may be needed`,
  );
  await expect(requireRoom(database.appUrl, { processes: 8, connections: 200 })).rejects.toThrow(
    /1600 may be needed \(SVC_WORKERS 8 times SVC_DATABASE_CONNECTIONS 200\): lower these, or raise max_connections/,
  );
});

test("the connection limit of the database counts too", async () => {
  const name = new URL(database.ownerUrl).pathname.slice(1);
  await query(database.ownerUrl, `alter database "${name}" connection limit 15`);
  await expect(requireRoom(database.appUrl, { processes: 1, connections: 20 })).rejects.toThrow(
    "admits 15 connections",
  );
  await query(database.ownerUrl, `alter database "${name}" connection limit -1`);
});
