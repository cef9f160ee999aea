import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterEach, expect, test, vi } from "vitest";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../src/database.ts";

let server: EmbeddedPostgres | undefined;
let dataDir: string;

afterEach(async () => {
  await server?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const pidOf = (folder: string) =>
  Number.parseInt(readFileSync(join(folder, "postgres", "cluster", "postmaster.pid"), "utf8"), 10);

test("a killed server is restarted on its port, with every committed row", async () => {
  dataDir = mkdtempSync(join(tmpdir(), "svc-supervised-"));
  // As root, the account that the server runs as must be able to pass through.
  chmodSync(dataDir, 0o711);
  server = await startEmbeddedPostgres({ dataDir });
  const sql = postgres(server.ownerUrl, { max: 1, onnotice: () => {}, backoff: () => 0.05 });
  await sql`create table kept (n int)`;
  await sql`insert into kept values (7)`;
  const killed = pidOf(dataDir);
  process.kill(killed, "SIGKILL");
  await vi.waitFor(() => expect(pidOf(dataDir)).not.toBe(killed), { timeout: 240_000 });
  const rows = await vi.waitFor(() => sql`select n from kept`, { timeout: 240_000 });
  expect(rows).toEqual([{ n: 7 }]);
  await sql.end();
});

test("a killed server can be stopped, and its folder used again", async () => {
  dataDir = mkdtempSync(join(tmpdir(), "svc-supervised-"));
  chmodSync(dataDir, 0o711);
  server = await startEmbeddedPostgres({ dataDir });
  process.kill(pidOf(dataDir), "SIGKILL");
  await server.stop();
  server = await startEmbeddedPostgres({ dataDir });
});
