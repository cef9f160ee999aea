import { aManifest, aTool } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Pool, poolOf, type Sql } from "../src/postgres/database.ts";
import { policyStore } from "../src/postgres/policies.ts";
import { marks } from "./sealing.ts";
import { query, startPlane } from "./support.ts";

/** As the service that stored the policies marks them. */
const storeOn = (pool: Pool) => policyStore(pool, marks, () => {});

let plane: Awaited<ReturnType<typeof startPlane>>;
let sql: Sql;
beforeAll(async () => {
  plane = await startPlane();
  sql = connect({ url: plane.database.appUrl, maxConnections: 4, statementTimeoutMs: 5_000 });
  const register = (name: string, manifest: object) =>
    plane.send("/v1/agents", { body: { name, manifest, override: {} } });
  await register("planner", {
    scopes: { ...aManifest("one", { tools: [aTool("http:a/b")] }).scopes, ...aManifest("two").scopes },
  });
  await register("auditor", aManifest("three", { tools: [aTool("http:a/c")] }));
  const moved = { scopes: { ...aManifest("one", { tools: [aTool("http:a/d")] }).scopes, ...aManifest("four").scopes } };
  await plane.send("/v1/manifests", { body: { agent: "planner", manifest: moved, override: {} } });
});
afterAll(async () => {
  await sql.end();
  await plane.stop();
});

const documentOf = async (scope: string, version: number): Promise<string> => {
  const [row] = await query<{ document: string }>(
    plane.database.appUrl,
    "select document from compiled_policy where scope = $1 and version = $2::text::int",
    [scope, String(version)],
  );
  return row?.document ?? "";
};

describe("a pinned policy", () => {
  test("is read once for concurrent calls", async () => {
    const policies = storeOn(poolOf(sql, 5_000));
    const found = await Promise.all(Array.from({ length: 20 }, () => policies.pinned("one", 1)));
    expect(new Set(found).size).toBe(1);
    expect(found[0]?.policy.document.tools).toMatchObject([{ ref: "http:a/b" }]);
  });

  test("is served from memory after its first read, also while the database is unreachable", async () => {
    const own = connect({ url: plane.database.appUrl, maxConnections: 1, statementTimeoutMs: 5_000 });
    const policies = storeOn(poolOf(own, 1_000));
    const before = await policies.pinned("one", 1);
    await own.end();
    expect(await policies.pinned("one", 1)).toBe(before);
    await expect(policies.pinned("one", 2)).rejects.toMatchObject({ code: "database_unavailable" });
  });

  test("that does not exist yet is read again", async () => {
    const policies = storeOn(poolOf(sql, 5_000));
    expect(await policies.pinned("one", 3)).toBeUndefined();
    await query(
      plane.database.ownerUrl,
      `insert into compiled_policy
        select scope, 3, schema_version, document, created_at, $1 from compiled_policy where scope = 'one' and version = 2`,
      [marks.mac(["policy", "one", 3, await documentOf("one", 2)])],
    );
    expect((await policies.pinned("one", 3))?.version).toBe(3);
  });

  test("is never confused with another version or scope, whatever the scope's name", async () => {
    const policies = storeOn(poolOf(sql, 5_000));
    expect((await policies.pinned("one", 1))?.version).toBe(1);
    expect((await policies.pinned("one", 2))?.version).toBe(2);
    expect(await policies.pinned("1 one", 1)).toBeUndefined();
  });
});

test("the latest version is read from the database each time", async () => {
  const policies = storeOn(poolOf(sql, 5_000));
  expect(await policies.latest("three")).toEqual({ version: 1, schemaVersion: 1 });
  await query(
    plane.database.ownerUrl,
    "insert into compiled_policy select scope, 2, 0, document, created_at from compiled_policy where scope = 'three'",
  );
  expect(await policies.latest("three")).toEqual({ version: 2, schemaVersion: 0 });
  expect(await policies.latest("never")).toBeUndefined();
});

describe("the current policies of agents", () => {
  const currentOf = async (...agents: string[]) =>
    (await storeOn(poolOf(sql, 5_000)).currentOf(agents)).map(({ scope, version }) => `${scope} ${version}`).toSorted();

  test("are those of the scopes in their latest accepted manifests", async () => {
    expect(await currentOf("planner")).toEqual(["four 1", "one 3"]);
    expect(await currentOf("nobody")).toEqual([]);
    expect(await currentOf()).toEqual([]);
  });

  test("leave out those of an older schema", async () => {
    expect(await currentOf("planner", "auditor")).toEqual(["four 1", "one 3"]);
  });

  test("do not change with a manifest that was not accepted", async () => {
    const manifest = aManifest("five", { tools: [aTool("http:a/e")] });
    expect((await plane.send("/v1/manifests", { body: { agent: "planner", manifest } })).status).toBe(409);
    expect(await currentOf("planner")).toEqual(["four 1", "one 3"]);
  });
});
