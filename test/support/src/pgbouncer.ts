import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@svc/host/child-program";
import postgres from "postgres";
import { startChild } from "./child.ts";
import { locate } from "./machine/locate.ts";
import type { TestDatabase } from "./postgres.ts";
import { waitUntil } from "./wait-until.ts";

/** A PgBouncer before a test's database. */
export interface Pooler extends Omit<TestDatabase, "drop"> {
  stop(): Promise<void>;
}

/** @param settings further lines of `[pgbouncer]` */
export async function startPgBouncer(
  database: TestDatabase,
  poolMode: "session" | "transaction" | "statement",
  settings: readonly string[] = [],
): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), "svc-pgbouncer-"));
  // PgBouncer refuses to run as root, and its account reads these.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const urls = { ownerUrl: database.ownerUrl, appUrl: database.appUrl, superuserUrl: database.superuserUrl };
  const accounts = Object.values(urls).map((url) => new URL(url));
  const users = join(folder, "users.txt");
  writeFileSync(
    users,
    accounts.map(({ username, password }) => `"${username}" "${decodeURIComponent(password)}"\n`).join(""),
  );
  const file = join(folder, "pgbouncer.ini");
  const [{ hostname, port: serverPort }] = accounts as [URL, ...URL[]];
  const lines = [
    "[databases]",
    `* = host=${hostname} port=${serverPort}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = scram-sha-256",
    `auth_file = ${users}`,
    `pool_mode = ${poolMode}`,
    "default_pool_size = 100",
    "max_client_conn = 500",
    ...settings,
  ];
  writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
  const child = startChild(locate("pgbouncer"), [...(process.getuid?.() === 0 ? ["-u", "nobody"] : []), file]);
  const stop = async () => {
    await child.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const at = (url: string) => Object.assign(new URL(url), { hostname: "127.0.0.1", port: String(port) }).href;
  await waitUntil("PgBouncer to answer or to exit", () => child.hasExited() || answers(at(urls.appUrl)));
  if (child.hasExited()) throw new Error(`PgBouncer exited at its start:\n${child.output()}`);
  return { ownerUrl: at(urls.ownerUrl), appUrl: at(urls.appUrl), superuserUrl: at(urls.superuserUrl), stop };
}

async function answers(url: string): Promise<true> {
  const sql = postgres(url, { max: 1, fetch_types: false, ssl: "prefer" });
  try {
    await sql`select 1`.simple();
    return true;
  } finally {
    await sql.end({ timeout: 1 });
  }
}
