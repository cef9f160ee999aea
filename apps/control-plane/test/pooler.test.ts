import { createDatabase, type Pooler, requires, spawnApp, startControlPlane, startPgBouncer } from "@svc/test-support";
import { afterAll, expect, onTestFinished } from "vitest";
import { connect } from "../src/postgres/database.ts";
import { requireOwnServerProcess } from "../src/postgres/server-process.ts";
import { query } from "./support.ts";

const { describe, test } = requires("pgbouncer");

const database = await createDatabase();
afterAll(() => database.drop());

/** As docs/guides/operations.md#poolers shows it. */
const ignored =
  "ignore_startup_parameters = statement_timeout, lock_timeout, idle_in_transaction_session_timeout, synchronous_commit, plan_cache_mode";

async function pooler(mode: Parameters<typeof startPgBouncer>[1], settings: readonly string[] = []): Promise<Pooler> {
  const started = await startPgBouncer(database, mode, settings);
  onTestFinished(() => started.stop());
  return started;
}

const shared = /^DATABASE_URL: its pooler gives each transaction another server process.*pool_mode = session/;

describe("a pooler", () => {
  test.each([
    ["in transaction mode", "transaction", [ignored]],
    ["in transaction mode that takes turns", "transaction", [ignored, "server_round_robin = 1"]],
    ["in transaction mode with one server process", "transaction", [ignored, "default_pool_size = 1"]],
    ["in transaction mode that refuses our settings", "transaction", []],
    ["in statement mode", "statement", [ignored]],
  ] as const)("%s is refused with one line that names the setting and the remedy", async (_name, mode, settings) => {
    const { appUrl } = await pooler(mode, settings);
    await expect(requireOwnServerProcess("DATABASE_URL", appUrl)).rejects.toThrow(shared);
  });

  test("in transaction mode is recognized while others use its server processes", async () => {
    const { appUrl } = await pooler("transaction", [ignored]);
    const others = Array.from({ length: 4 }, () =>
      connect({ url: appUrl, maxConnections: 1, statementTimeoutMs: 5_000 }),
    );
    let isOver = false;
    const busy = others.map(async (sql) => {
      while (!isOver) await sql`select 1`.simple();
    });
    try {
      for (let times = 0; times < 5; times++) {
        await expect(requireOwnServerProcess("DATABASE_URL", appUrl)).rejects.toThrow(shared);
      }
    } finally {
      isOver = true;
      await Promise.all(busy);
      await Promise.all(others.map((sql) => sql.end()));
    }
  });

  test("in session mode that refuses our settings is refused with the line to add", async () => {
    const { appUrl } = await pooler("session");
    await expect(requireOwnServerProcess("DATABASE_URL", appUrl)).rejects.toThrow(
      /^DATABASE_URL: its pooler refuses the settings.*ignore_startup_parameters/,
    );
  });

  test("in session mode serves, and every setting of a connection is in force", async () => {
    const { appUrl } = await pooler("session", [ignored]);
    await requireOwnServerProcess("DATABASE_URL", appUrl);
    const settingsAt = async (url: string) => {
      const sql = connect({ url, maxConnections: 1, statementTimeoutMs: 1_234, plansAfresh: true });
      try {
        return await sql`
          select name, setting from pg_settings
          where source in ('client', 'session') and name <> 'client_encoding' order by name`;
      } finally {
        await sql.end();
      }
    };
    const settings = await settingsAt(appUrl);
    expect(settings).toEqual(await settingsAt(database.appUrl));
    expect(settings).toContainEqual({ name: "statement_timeout", setting: "1234" });
    expect(settings).toContainEqual({ name: "synchronous_commit", setting: "on" });
  });
});

describe("PostgreSQL without a pooler", () => {
  test("passes", () => requireOwnServerProcess("DATABASE_URL", database.appUrl));

  test.each([
    ["a port without a server", { port: "9" }, /^DATABASE_URL: .*ECONNREFUSED.* Check host and port/],
    ["an unknown account", { username: "stranger" }, /^DATABASE_URL: .* Check user and password/],
    ["an unknown database", { pathname: "/nowhere" }, /^DATABASE_URL: .* no database of this name .* Check the name/],
  ])("at %s is refused with the setting and what to check", async (_name, change, line) => {
    const url = Object.assign(new URL(database.appUrl), change).href;
    await expect(requireOwnServerProcess("DATABASE_URL", url)).rejects.toThrow(line);
  });
});

describe("a control plane", () => {
  const settings = (changes: Record<string, string>) => ({
    SVC_DEV: "true",
    PORT: "0",
    SVC_TELEMETRY_KEY: "telemetry-key-of-the-tests",
    DATABASE_URL: database.appUrl,
    SVC_MIGRATION_DATABASE_URL: database.ownerUrl,
    ...changes,
  });

  test.each([
    ["DATABASE_URL", "appUrl"],
    ["SVC_MIGRATION_DATABASE_URL", "ownerUrl"],
    ["AUDIT_DATABASE_URL", "appUrl"],
  ] as const)("does not start where %s shares server processes, and leaves no lock behind", async (setting, role) => {
    const through = await pooler("transaction", [ignored]);
    const child = spawnApp({ main: "@svc/control-plane/main", env: settings({ [setting]: through[role] }) });
    expect(await child.exited).toBe(1);
    expect(child.output()).toMatch(new RegExp(`^${setting}: its pooler gives each transaction another`, "m"));
    const locks = await query(
      database.superuserUrl,
      "select from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())",
    );
    expect(locks).toEqual([]);
  });

  test("does not migrate through a pooler that shares server processes", async () => {
    const { ownerUrl } = await pooler("transaction", [ignored]);
    const env = settings({ SVC_MIGRATION_DATABASE_URL: ownerUrl });
    const child = spawnApp({ main: "@svc/control-plane/main", args: ["migrate"], env });
    expect(await child.exited).toBe(1);
    expect(child.output()).toContain("SVC_MIGRATION_DATABASE_URL: its pooler");
  });

  test("serves through a pooler in session mode", async () => {
    const through = await pooler("session", [ignored]);
    const plane = await startControlPlane({ database: through });
    onTestFinished(async () => void (await plane.stop()));
    expect((await fetch(`${plane.url}/readyz`)).status).toBe(200);
  });
});
