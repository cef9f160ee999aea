import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { DataFolderInUse } from "../src/data-folder.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../src/database.ts";
import { installedPackage, serverPrograms } from "../src/server-programs.ts";

// Each start runs initdb and waits for a disk that other tests use as well.
const isRoot = process.getuid?.() === 0;
const undo: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** Other accounts can pass through it, by the default `mode`. */
function temporaryFolder(mode = 0o711): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-embedded-"));
  chmodSync(folder, mode);
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function start(dataDir: string): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir });
  undo.push(server.stop);
  return server;
}

async function query<Row extends object>(url: string, text: string): Promise<Row[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe<Row[]>(text);
  } finally {
    await sql.end();
  }
}

/** Starts a server in a parent process and kills the parent. */
async function killedParent(dataDir: string): Promise<{ serverPid: number }> {
  const program = fileURLToPath(new URL("parent.ts", import.meta.url));
  const parent = spawn(process.execPath, ["--conditions=@svc/source", program, dataDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  undo.push(() => parent.kill("SIGKILL"));
  await once(parent.stdout, "data");
  const serverPid = postmasterPid(dataDir);
  const url = connection(dataDir).owner_url;
  await query(url, "create table kept (n int); insert into kept values (7)");
  parent.kill("SIGKILL");
  await once(parent, "exit");
  return { serverPid };
}

const pidFile = (dataDir: string): string => join(dataDir, "postgres", "cluster", "postmaster.pid");
const postmasterPid = (dataDir: string): number => Number.parseInt(readFileSync(pidFile(dataDir), "utf8"), 10);
const connection = (dataDir: string): { owner_url: string; app_url: string } =>
  JSON.parse(readFileSync(join(dataDir, "connection.json"), "utf8"));

/** A server that no process watches. */
async function orphan(dataDir: string): Promise<number> {
  const home = realpathSync(join(dataDir, "postgres"));
  const { uid, gid } = statSync(home);
  const programs = await serverPrograms(await installedPackage(), isRoot ? { uid, gid } : undefined);
  const options = { uid, gid, cwd: "/", stdio: "ignore" as const };
  execFileSync(
    join(programs, "pg_ctl"),
    ["start", "-w", "-D", join(home, "cluster"), "-l", join(home, "server.log")],
    options,
  );
  const pid = postmasterPid(dataDir);
  undo.push(() => isAlive(pid) && process.kill(pid, "SIGQUIT"));
  return pid;
}

async function stoppedFolder(): Promise<string> {
  const dataDir = temporaryFolder();
  const server = await start(dataDir);
  await query(server.ownerUrl, "create table kept (n int); insert into kept values (7)");
  await server.stop();
  return dataDir;
}

/** False for a zombie too. */
function isAlive(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8") !== "";
  } catch {
    return false;
  }
}

describe("a started server", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "svc-embedded-"));
  let server: EmbeddedPostgres;

  beforeAll(async () => {
    chmodSync(dataDir, 0o711);
    server = await startEmbeddedPostgres({ dataDir });
  });

  afterAll(async () => {
    await server.stop();
    rmSync(dataDir, { recursive: true });
  });

  test("gives the owner all rights and the service only the granted ones", async () => {
    const { ownerUrl, appUrl } = server;
    await query(ownerUrl, "create table note (n int); grant insert, select on note to svc_app");
    await query(appUrl, "insert into note values (1)");
    expect(await query(appUrl, "select n from note")).toEqual([{ n: 1 }]);
    await expect(query(appUrl, "delete from note")).rejects.toThrow(/permission denied/);
    await expect(query(appUrl, "create table mine (n int)")).rejects.toThrow(/permission denied/);
  });

  test("acknowledges a commit only after it is on disk", async () => {
    const { appUrl } = server;
    expect(await query(appUrl, "select current_setting('synchronous_commit') s, current_setting('fsync') f")).toEqual([
      { s: "on", f: "on" },
    ]);
  });

  test("listens on loopback only and requires the password", async () => {
    const { appUrl, superuserUrl } = server;
    expect(await query(superuserUrl, "show listen_addresses")).toEqual([{ listen_addresses: "127.0.0.1" }]);
    expect(await query(superuserUrl, "show unix_socket_directories")).toEqual([{ unix_socket_directories: "" }]);
    const wrong = new URL(appUrl);
    wrong.password = "wrong";
    await expect(query(wrong.href, "select 1")).rejects.toThrow(/password authentication failed/);
  });

  test("writes its addresses to a file that only its owner can read", async () => {
    const { ownerUrl, appUrl } = server;
    expect(connection(dataDir)).toMatchObject({ owner_url: ownerUrl, app_url: appUrl });
    for (const file of ["connection.json", "passwords.json"]) {
      expect(statSync(join(dataDir, file)).mode & 0o777).toBe(0o600);
    }
  });

  test("never runs as root", () => {
    expect(statSync(`/proc/${postmasterPid(dataDir)}`).uid).not.toBe(0);
  });
});

describe("one data folder", () => {
  test("keeps its rows and passwords after a restart", async () => {
    const dataDir = temporaryFolder();
    const first = await start(dataDir);
    await query(first.ownerUrl, "create table kept (n int); insert into kept values (7)");
    await first.stop();
    const second = await start(dataDir);
    expect(await query(second.ownerUrl, "select n from kept")).toEqual([{ n: 7 }]);
    expect(new URL(second.appUrl).password).toBe(new URL(first.appUrl).password);
  });

  test("serves one process at a time", async () => {
    const dataDir = temporaryFolder();
    const first = await start(dataDir);
    await expect(startEmbeddedPostgres({ dataDir })).rejects.toThrow(DataFolderInUse);
    expect(await query(first.ownerUrl, "select 1 as n")).toEqual([{ n: 1 }]);
  });

  test("is created again after an interrupted first start", async () => {
    const dataDir = temporaryFolder();
    await (await start(dataDir)).stop();
    cpSync(join(dataDir, "postgres", "cluster"), join(dataDir, "postgres", "partial"), { recursive: true });
    rmSync(join(dataDir, "postgres", "cluster"), { recursive: true });
    const { appUrl } = await start(dataDir);
    expect(await query(appUrl, "select 1 as n")).toEqual([{ n: 1 }]);
  });

  test("is named in the error where it cannot be written", async () => {
    await expect(startEmbeddedPostgres({ dataDir: "/proc/svc-data" })).rejects.toThrow("/proc/svc-data");
  });
});

describe("after the parent was killed", () => {
  test("the server ends and the next start has every committed row", async () => {
    const dataDir = temporaryFolder();
    const { serverPid } = await killedParent(dataDir);
    await vi.waitFor(() => expect(isAlive(serverPid)).toBe(false), { timeout: 240_000 });
    const { ownerUrl } = await start(dataDir);
    expect(await query(ownerUrl, "select n from kept")).toEqual([{ n: 7 }]);
  });

  test("the next start stops a server that kept running", async () => {
    const dataDir = await stoppedFolder();
    const serverPid = await orphan(dataDir);
    const { ownerUrl } = await start(dataDir);
    expect(isAlive(serverPid)).toBe(false);
    expect(await query(ownerUrl, "select n from kept")).toEqual([{ n: 7 }]);
  });

  test("a process that has the server's former process id is left alone", async () => {
    const dataDir = await stoppedFolder();
    const serverPid = await orphan(dataDir);
    const text = readFileSync(pidFile(dataDir), "utf8");
    process.kill(serverPid, "SIGQUIT");
    await vi.waitFor(() => expect(isAlive(serverPid)).toBe(false), { timeout: 240_000 });
    // Of the server's own account: PostgreSQL itself takes any such process for a running server.
    const { uid, gid } = statSync(join(dataDir, "postgres"));
    const unrelated = spawn("sleep", ["600"], { uid, gid, stdio: "ignore" });
    undo.push(() => unrelated.kill());
    writeFileSync(pidFile(dataDir), text.replace(/^\d+/, String(unrelated.pid)));
    chownSync(pidFile(dataDir), uid, gid);
    const { ownerUrl } = await start(dataDir);
    expect(await query(ownerUrl, "select n from kept")).toEqual([{ n: 7 }]);
    expect(unrelated.exitCode ?? unrelated.signalCode).toBeNull();
  });
});

// An ordinary user has one account and can read its own files.
if (isRoot) {
  const nobody = { uid: 65_534, gid: 65_534 };

  describe("as root", () => {
    test("a cluster of another account runs, and its orphan is stopped, as that account", async () => {
      const dataDir = await stoppedFolder();
      execFileSync("chown", ["-R", `${nobody.uid}:${nobody.gid}`, join(dataDir, "postgres")]);
      const orphanPid = await orphan(dataDir);
      const { ownerUrl } = await start(dataDir);
      expect(isAlive(orphanPid)).toBe(false);
      expect(statSync(`/proc/${postmasterPid(dataDir)}`).uid).toBe(nobody.uid);
      expect(await query(ownerUrl, "select n from kept")).toEqual([{ n: 7 }]);
    });

    test("a data folder below a private home works, with a link to the cluster", async () => {
      const dataDir = join(temporaryFolder(0o700), "data");
      const { ownerUrl, stop } = await start(dataDir);
      const home = realpathSync(join(dataDir, "postgres"));
      undo.unshift(() => rmSync(home, { recursive: true }));
      expect(home.startsWith(dataDir)).toBe(false);
      await query(ownerUrl, "create table kept (n int); insert into kept values (7)");
      await stop();
      expect(await query((await start(dataDir)).ownerUrl, "select n from kept")).toEqual([{ n: 7 }]);
    });

    test("a private data folder in a public place is opened for passing through only", async () => {
      const dataDir = temporaryFolder(0o700);
      await start(dataDir);
      expect(realpathSync(join(dataDir, "postgres")).startsWith(dataDir)).toBe(true);
      expect(statSync(dataDir).mode & 0o777).toBe(0o701);
    });

    test("programs below a private home are copied to where the server's account can run them", async () => {
      const installed = await installedPackage();
      const native = join(temporaryFolder(0o700), "native");
      cpSync(installed.native, native, { recursive: true, verbatimSymlinks: true });
      const cache = temporaryFolder();
      const copied = await serverPrograms({ ...installed, native }, nobody, cache);
      expect(copied.startsWith(cache)).toBe(true);
      const initdb = join(copied, "initdb");
      expect(execFileSync(initdb, ["--version"], { ...nobody, cwd: "/", encoding: "utf8" })).toContain("PostgreSQL");
      expect(await serverPrograms({ ...installed, native }, nobody, cache)).toBe(copied);
    });
  });
}
