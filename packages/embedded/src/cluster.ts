import { once } from "node:events";
import { existsSync } from "node:fs";
import { chown, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { platform } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { run, type ServerAccount } from "./server-account.ts";

export const superuser = "postgres";

/** One database cluster and how its server runs. */
export interface Cluster {
  /** Folder of `initdb` and `pg_ctl`. */
  readonly programs: string;
  readonly account: ServerAccount;
  /** Real path of the folder that holds `cluster/` and `server.log`; it belongs to `account`. */
  readonly home: string;
}

const folderOf = ({ home }: Cluster): string => join(home, "cluster");
export const pidFileOf = (cluster: Cluster): string => join(folderOf(cluster), "postmaster.pid");

/** Creates the cluster where there is none. Renamed into place when complete: an interrupted one is created again. */
export async function ensureCluster(cluster: Cluster, password: string): Promise<void> {
  if (existsSync(folderOf(cluster))) return;
  const { programs, account, home } = cluster;
  const partial = join(home, "partial");
  const passwordFile = join(home, "password");
  await rm(partial, { recursive: true, force: true });
  await writeFile(passwordFile, password, { mode: 0o600 });
  try {
    if (account) await chown(passwordFile, account.uid, account.gid);
    const login = [`--username=${superuser}`, `--pwfile=${passwordFile}`, "--auth=scram-sha-256"];
    // Text sorts the same on every machine, whatever locales it has.
    const text = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
    await run(join(programs, "initdb"), [`--pgdata=${partial}`, ...login, ...text], account);
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(partial, folderOf(cluster));
}

/** Stops one that a killed parent left running. By default on a free loopback port. */
export async function startCluster(cluster: Cluster, samePort?: number): Promise<{ port: number; pid: number }> {
  const folder = folderOf(cluster);
  const logFile = join(cluster.home, "server.log");
  await stopCluster(cluster);
  await clearStalePid(cluster);
  for (let attempt = 1; ; attempt += 1) {
    const port = samePort ?? (await freePort());
    // Read after postgresql.conf, so it overrides what an earlier release wrote there.
    await writeFile(join(folder, "postgresql.auto.conf"), settings(port));
    await rm(logFile, { force: true });
    try {
      await control(cluster, "start", "--timeout=60", `--log=${logFile}`);
      return { port, pid: Number.parseInt(await readFile(pidFileOf(cluster), "utf8"), 10) };
    } catch (cause) {
      const log = await readFile(logFile, "utf8").catch(() => "");
      if (attempt >= 20 || !isTransient.test(log)) {
        const end = log.split("\n").slice(-10).join("\n").trim();
        throw new Error(`the embedded PostgreSQL did not start:\n${end}`, { cause });
      }
      await delay(250);
    }
  }
}

/** Another process took the port meanwhile, or backends of a killed server have not ended yet. */
const isTransient = /could not bind|shared memory block/;

const control = (cluster: Cluster, act: "start" | "stop", ...options: readonly string[]): Promise<string> =>
  run(
    join(cluster.programs, "pg_ctl"),
    [act, `--pgdata=${folderOf(cluster)}`, "--wait", "--silent", ...options],
    cluster.account,
  );

/** A loopback port that is free now; another process may take it before it is used. */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, "close");
  return port;
}

const settings = (port: number): string => `\
listen_addresses = '127.0.0.1'
port = ${port}
unix_socket_directories = ''
max_connections = 200
fsync = on
synchronous_commit = on
timezone = 'UTC'
log_timezone = 'UTC'
log_checkpoints = off
# Keep statements, and values that a constraint rejected, out of the log.
log_error_verbosity = terse
log_min_error_statement = panic
`;

const readPidFile = (cluster: Cluster) => readFile(pidFileOf(cluster), "utf8").catch(() => "");

/** Whether the cluster's server runs, even one that another process started. */
export async function isRunning(cluster: Cluster): Promise<boolean> {
  const pid = Number.parseInt(await readPidFile(cluster), 10);
  if (!(pid > 0)) return false;
  const args = await commandLine(pid);
  return basename(args[0] ?? "") === "postgres" && args.join(" ").includes(`-D ${folderOf(cluster)}`);
}

/** The arguments of a process, readable across accounts; empty where it has ended. */
async function commandLine(pid: number): Promise<readonly string[]> {
  try {
    if (platform() === "linux") return (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0");
    return (await run("ps", ["-o", "args=", "-p", String(pid)])).split(" ");
  } catch {
    return [];
  }
}

/** Above the largest process id of any system. */
const noProcess = 2 ** 31 - 1;

/**
 * Makes a stale `postmaster.pid` harmless: PostgreSQL takes any process with that id for a running server and refuses to
 * start. The file stays: its other lines let the server find backends of a killed one that still hold the shared memory.
 */
async function clearStalePid(cluster: Cluster): Promise<void> {
  const text = await readPidFile(cluster);
  if (text !== "") await writeFile(pidFileOf(cluster), text.replace(/^\d+/, String(noProcess)));
}

/** Rolls open transactions back; kills the server after 30 s. Does nothing where none runs. */
export async function stopCluster(cluster: Cluster): Promise<void> {
  if (!(await isRunning(cluster))) return;
  const stop = (mode: string) => control(cluster, "stop", `--mode=${mode}`, "--timeout=30");
  try {
    await stop("fast").catch(() => stop("immediate"));
  } catch (cause) {
    // A server that ends meanwhile cannot be signalled, and is stopped all the same.
    if (await isRunning(cluster)) throw cause;
  }
}
