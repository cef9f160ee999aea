import { chown, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { PostgresBinaries } from "./binaries.ts";
import { freePort } from "./free-port.ts";
import { run } from "./run.ts";
import type { ServerAccount } from "./server-account.ts";
import { disownPid, pidFileIn, serverPid } from "./server-process.ts";

export const superuser = "postgres";

/** One database cluster and the programs that make, start and stop it. */
export interface Cluster {
  binaries: PostgresBinaries;
  account: ServerAccount;
  /** Real path of the folder that holds `cluster/` and `server.log`; it belongs to `account`. */
  home: string;
}

const folderOf = ({ home }: Cluster): string => join(home, "cluster");
export const pidFileOf = (cluster: Cluster): string => pidFileIn(folderOf(cluster));
const logOf = ({ home }: Cluster): string => join(home, "server.log");

/** Makes the cluster where there is none yet. Renamed into place when whole: one cut short is made anew. */
export async function ensureCluster(cluster: Cluster, password: string): Promise<void> {
  if (await stat(folderOf(cluster)).catch(() => undefined)) return;
  const partial = join(cluster.home, "partial");
  const passwordFile = join(cluster.home, "password");
  await rm(partial, { recursive: true, force: true });
  await writeFile(passwordFile, password, { mode: 0o600 });
  try {
    if (cluster.account) await chown(passwordFile, cluster.account.uid, cluster.account.gid);
    await run(
      cluster.binaries.initdb,
      [
        `--pgdata=${partial}`,
        `--username=${superuser}`,
        `--pwfile=${passwordFile}`,
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        // The same order of text on every machine, whatever locales it has.
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
      ],
      cluster.account,
    );
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(partial, folderOf(cluster));
}

/** What a running server is known by. */
export interface RunningCluster {
  port: number;
  pid: number;
}

/**
 * Starts the server, after stopping one that a killed parent left behind.
 * @param samePort the loopback port it had before, which others know; by default a free one
 */
export async function startCluster(cluster: Cluster, samePort?: number): Promise<RunningCluster> {
  const folder = folderOf(cluster);
  await stopCluster(cluster);
  await disownPid(folder);
  for (let attempt = 1; ; attempt += 1) {
    const port = samePort ?? (await freePort());
    // Read after postgresql.conf, so that these hold whatever an earlier release wrote there.
    await writeFile(join(folder, "postgresql.auto.conf"), settings(port));
    await rm(logOf(cluster), { force: true });
    try {
      const wait = ["--wait", "--timeout=60", "--silent"];
      await run(
        cluster.binaries.pgCtl,
        ["start", `--pgdata=${folder}`, ...wait, `--log=${logOf(cluster)}`],
        cluster.account,
      );
      return { port, pid: Number.parseInt(await readFile(pidFileOf(cluster), "utf8"), 10) };
    } catch (cause) {
      const log = await readFile(logOf(cluster), "utf8").catch(() => "");
      if (attempt >= 20 || !passes.test(log)) throw startFailure(log, cause);
      await delay(250);
    }
  }
}

/** Another process took the port meanwhile, or backends of a killed server are still on their way out. */
const passes = /could not bind|shared memory block/;

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
# Neither statements nor the values that a constraint refused belong in a log.
log_error_verbosity = terse
log_min_error_statement = panic
`;

const startFailure = (log: string, cause: unknown): Error =>
  new Error(`the embedded PostgreSQL did not start:\n${log.split("\n").slice(-10).join("\n").trim()}`, { cause });

export const isRunning = async (cluster: Cluster): Promise<boolean> =>
  (await serverPid(folderOf(cluster))) !== undefined;

/** Open transactions are rolled back; a server that does not end by itself in time is made to. Nothing where none runs. */
export async function stopCluster(cluster: Cluster): Promise<void> {
  if (!(await isRunning(cluster))) return;
  const stop = (mode: string) =>
    run(
      cluster.binaries.pgCtl,
      ["stop", `--pgdata=${folderOf(cluster)}`, `--mode=${mode}`, "--wait", "--timeout=30", "--silent"],
      cluster.account,
    );
  try {
    await stop("fast").catch(() => stop("immediate"));
  } catch (cause) {
    // One that ends meanwhile cannot be signalled any more, and is stopped all the same.
    if (await isRunning(cluster)) throw cause;
  }
}
