import { randomUUID } from "node:crypto";
import { copyFile, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createDatabase, type TestDatabase, waitUntil } from "@svc/test-support";
import { sha256Base64url } from "@svc/tokens";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrate, requireMigrated } from "../src/postgres/migrate.ts";
import { query, startPlane } from "./support.ts";

let database: TestDatabase;
let owner: postgres.Sql;
beforeAll(async () => {
  database = await createDatabase();
  owner = postgres(database.ownerUrl, { max: 2, onnotice: () => {} });
});
afterAll(async () => {
  await owner.end();
  await database.drop();
});

/** A migration of a later release. */
async function release(name: string, statements: string): Promise<{ folder: URL; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "svc-migrations-"));
  await writeFile(join(path, name), statements);
  return { folder: pathToFileURL(`${path}/`), remove: () => rm(path, { recursive: true }) };
}

const applied = async (): Promise<readonly string[]> => {
  const rows = await owner<{ name: string }[]>`select name from schema_migration order by name`;
  return rows.map(({ name }) => name);
};

/** All migrations of this release before one. */
async function releaseBefore(name: string): Promise<{ folder: URL; remove(): Promise<void> }> {
  const all = new URL("../src/postgres/migrations/", import.meta.url);
  const path = await mkdtemp(join(tmpdir(), "svc-migrations-"));
  for (const file of await readdir(all)) if (file < name) await copyFile(new URL(file, all), join(path, file));
  return { folder: pathToFileURL(`${path}/`), remove: () => rm(path, { recursive: true }) };
}

test("the names and facts of manifests that are in force are on record after an upgrade", async () => {
  const upgraded = await createDatabase();
  const { folder, remove } = await releaseBefore("0013_owned_names.sql");
  await migrate({ ...upgraded, folder });
  const sql = postgres(upgraded.ownerUrl, { max: 1, onnotice: () => {} });
  const add = async (agent: string, status: string, manifest: object) => {
    const id = randomUUID();
    await sql`insert into agent (agent_id, name, created_at) values (${id}, ${agent}, now())`;
    await sql`insert into manifest_version (agent_id, version, status, doc, created_at)
      values (${id}, 1, ${status}, ${JSON.stringify(manifest)}, now())`;
  };
  const tool = { ref: "mcp:ledger/pay", data_classes: ["finance"] };
  const ledger = { kind: "mcp", name: "ledger", url: "https://ledger.internal:443/mcp" };
  const list = { kind: "http", name: "\u0000\ud800", url: "https://tools.internal" };
  await add("one", "reconciled", { discovery: [ledger, list], scopes: { a: { hop_budget: 1, tools: [tool] } } });
  const strict = { ...tool, privileged: true, access: "write" };
  await add("two", "attested", { scopes: { b: { hop_budget: 1, tools: [strict] }, c: { hop_budget: 1 } } });
  await add("three", "rejected", { discovery: { ...ledger, url: "https://evil.test" }, scopes: {} });
  await migrate(upgraded);
  expect(await sql`select name, origin from server_origin`).toEqual([
    { name: "mcp:ledger", origin: "https://ledger.internal" },
  ]);
  expect(await sql`select ref, privileged, access from tool_fact`).toEqual([
    { ref: "mcp:ledger/pay", privileged: true, access: "write" },
  ]);
  const listed =
    await sql`select kind, name, version, document_hash as hash from unmarked where kind in ('origin', 'fact')`;
  expect(listed).toEqual([
    { kind: "origin", name: "mcp:ledger", version: "1", hash: sha256Base64url("https://ledger.internal") },
    { kind: "fact", name: "mcp:ledger/pay", version: "1", hash: sha256Base64url("true write") },
  ]);
  await sql.end();
  await remove();
  await upgraded.drop();
});

describe("migrations", () => {
  test("are applied once by processes that start together", async () => {
    await Promise.all(Array.from({ length: 4 }, () => migrate(database)));
    const names = await applied();
    expect(names[0]).toBe("0001_initial.sql");
    expect(new Set(names).size).toBe(names.length);
    await migrate(database);
    expect(await applied()).toEqual(names);
  });

  test("stop the start where one changed after it was applied", async () => {
    await owner`update schema_migration set checksum = reverse(checksum) where name = '0001_initial.sql'`;
    await expect(migrate(database)).rejects.toThrow("migration 0001_initial.sql was changed after it was applied");
    await owner`update schema_migration set checksum = reverse(checksum) where name = '0001_initial.sql'`;
    await migrate(database);
  });

  test("of a newer release do not stop the present release from starting", async () => {
    const { folder, remove } = await release("9001_expand.sql", "alter table block add column added_later text");
    await migrate({ ...database, folder });
    await migrate(database);
    expect(await applied()).toContain("9001_expand.sql");
    await remove();
  });

  test("leave no part of one that fails", async () => {
    const statements = "create table half_done (id int); select 1 / 0";
    const { folder, remove } = await release("9002_broken.sql", statements);
    await expect(migrate({ ...database, folder })).rejects.toThrow("division by zero");
    expect(await applied()).not.toContain("9002_broken.sql");
    const [left] = await owner`select from pg_class where relname = 'half_done'`;
    expect(left).toBeUndefined();
    await remove();
  });

  test("give up the wait for a locked table, and try again", async () => {
    const { folder, remove } = await release("9003_busy.sql", "alter table block add column came_late text");
    const done = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const holding = owner.begin(async (tx) => {
      await tx`select count(*) from block`;
      held.resolve();
      await done.promise;
    });
    await held.promise;
    const migrated = migrate({ ...database, folder });
    const isWaiting = async (): Promise<boolean> => {
      const [row] = await owner`select from pg_locks where relation = 'block'::regclass and not granted`;
      return row !== undefined;
    };
    await waitUntil("the migration to wait for the table", isWaiting);
    await waitUntil("it to give way", async () => !(await isWaiting()));
    await query(database.appUrl, "insert into block (kind, ref, reason, created_at) values ('tool', 'x', 'r', now())");
    done.resolve();
    await holding;
    await migrated;
    expect(await applied()).toContain("9003_busy.sql");
    await remove();
  });
});

describe("a migration whose table stays in use", () => {
  test("stops after its attempts with a remedy, and changes neither schema nor service", async () => {
    const plane = await startPlane();
    const { folder, remove } = await release("9005_never.sql", "alter table block add column never text");
    const holder = postgres(plane.database.ownerUrl, { max: 1, onnotice: () => {} });
    const done = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const holding = holder.begin(async (tx) => {
      await tx`select count(*) from block`;
      held.resolve();
      await done.promise;
    });
    await held.promise;
    await expect(migrate({ ...plane.database, folder, attempts: 1 })).rejects.toThrow(
      /^migration 9005_never.sql gave up: .*in use.*pg_stat_activity.*start again\.$/,
    );
    expect((await plane.send("/readyz", { token: "" })).status).toBe(200);
    const put = { method: "PUT", body: { reason: "hostile" } };
    expect((await plane.send("/v1/blocks/tool/http:x", put)).status).toBe(200);
    done.resolve();
    await holding;
    const ledger = await holder`select from schema_migration where name = '9005_never.sql'`;
    expect(ledger).toHaveLength(0);
    await migrate({ ...plane.database, folder });
    await holder.end();
    await remove();
    await plane.stop();
  });
});

describe("a process whose migrations run in a job", () => {
  test("does not start before the job has run, and names the command", async () => {
    const fresh = await createDatabase();
    await expect(requireMigrated(fresh)).rejects.toThrow('lacks migration 0001_initial.sql: run "migrate" first');
    await migrate(fresh);
    await requireMigrated(fresh);
    const { folder, remove } = await release("9004_later.sql", "select 1");
    await expect(requireMigrated({ ...fresh, folder })).rejects.toThrow("lacks migration 9004_later.sql");
    await remove();
    await fresh.drop();
  });
});

describe("after a migration the service", () => {
  test("can read every table and insert into all but the owner's", async () => {
    const rows = await query<{ name: string; may_read: boolean; may_add: boolean }>(
      database.appUrl,
      `select relname::text as name, has_table_privilege(oid, 'select') as may_read,
         has_table_privilege(oid, 'insert') as may_add
       from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
    );
    expect(rows.filter(({ may_read: mayRead }) => !mayRead)).toEqual([]);
    const closed = rows.flatMap(({ name, may_add: mayAdd }) => (mayAdd ? [] : [name]));
    expect(closed.sort()).toEqual([
      ...["retention", "retired_month", "schema_migration", "unmarked"],
      ...["would_block_count", "would_block_group", "would_block_place", "would_block_progress", "would_block_slice"],
    ]);
  });

  test("cannot change a record, nor can the owner", async () => {
    const rows = await query<{ name: string; triggers: string[] }>(
      database.appUrl,
      `select c.relname::text as name,
         array(select tgname::text from pg_trigger t where t.tgrelid = c.oid and t.tgenabled = 'A' order by 1) as triggers
       from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
         and not has_table_privilege(c.oid, 'update')`,
    );
    const unguarded = rows.filter(({ triggers }) => !triggers.includes("append_only") || triggers.length < 2);
    expect(unguarded.map(({ name }) => name).sort()).toEqual([
      ...["retention", "schema_migration"],
      ...["would_block_count", "would_block_group", "would_block_place", "would_block_progress", "would_block_slice"],
    ]);
    expect(rows.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["decision", "decision_default", "spend", "mint", "administrative_event", "revocation"]),
    );
  });
});
