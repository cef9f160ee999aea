import { spawn } from "node:child_process";
import { Socket } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { type Cluster, ensureCluster, isRunning, pidFileOf, startCluster, stopCluster, superuser } from "./cluster.ts";
import {
  clusterHome,
  createDataFolder,
  lockFolder,
  type RolePasswords,
  rolePasswords,
  writePrivate,
} from "./data-folder.ts";
import { serverAccount } from "./server-account.ts";
import { installedPackage, serverPrograms } from "./server-programs.ts";

/** A PostgreSQL server of our own, on loopback. */
export interface EmbeddedPostgres {
  /** For migrations: owns the database and its tables. */
  readonly ownerUrl: string;
  /** For the service: has the rights that the migrations granted. */
  readonly appUrl: string;
  /** For creating further databases; the service never uses it. */
  readonly superuserUrl: string;
  /** Rolls open transactions back, stops the server and frees the folder. Idempotent. */
  stop(): Promise<void>;
}

const databaseName = "svc";
const ownerRole = "svc_owner";
const appRole = "svc_app";

/**
 * Starts PostgreSQL on `dataDir`, creating it where needed. The addresses are in `<dataDir>/connection.json` (mode 0600).
 * A server that ends by itself is restarted on its port; one whose parent was killed ends too, or the next start on the
 * folder stops it. Committed rows are kept.
 * @throws DataFolderInUse
 */
export async function startEmbeddedPostgres({ dataDir }: { readonly dataDir: string }): Promise<EmbeddedPostgres> {
  const folder = await createDataFolder(resolve(dataDir));
  const release = lockFolder(folder);
  try {
    return await start(folder, release);
  } catch (cause) {
    release();
    throw cause;
  }
}

async function start(dataDir: string, release: () => void): Promise<EmbeddedPostgres> {
  const account = await serverAccount(join(dataDir, "postgres"));
  const programs = await serverPrograms(await installedPackage(), account);
  const cluster: Cluster = { programs, account, home: await clusterHome(dataDir, account) };
  const passwords = await rolePasswords(dataDir);
  await ensureCluster(cluster, passwords.superuser);
  const server = await runServer(cluster, release);
  const url = (role: string, password: string, database: string) =>
    `postgres://${role}:${password}@127.0.0.1:${server.port}/${database}`;
  const superuserUrl = url(superuser, passwords.superuser, "postgres");
  const ownerUrl = url(ownerRole, passwords.owner, databaseName);
  const appUrl = url(appRole, passwords.app, databaseName);
  try {
    await ensureRoles(superuserUrl, passwords);
    const connection = { superuser_url: superuserUrl, owner_url: ownerUrl, app_url: appUrl };
    await writePrivate(join(dataDir, "connection.json"), connection);
  } catch (cause) {
    await server.stop();
    throw cause;
  }
  return { superuserUrl, ownerUrl, appUrl, stop: server.stop };
}

async function runServer(cluster: Cluster, release: () => void) {
  const { port, pid } = await startCluster(cluster);
  let dismissWatch = stopWithParent(pid, cluster);
  const endSupervision = supervise(
    () => isRunning(cluster),
    async () => {
      dismissWatch();
      const restarted = await startCluster(cluster, port);
      dismissWatch = stopWithParent(restarted.pid, cluster);
    },
  );
  const stopOnce = async (): Promise<void> => {
    await endSupervision();
    dismissWatch();
    await stopCluster(cluster);
    release();
  };
  let stopped: Promise<void> | undefined;
  return {
    port,
    stop: () => {
      stopped ??= stopOnce();
      return stopped;
    },
  };
}

/** The pipe closes when our process ends, even by SIGKILL; the server is stopped only if it is still the same one. */
const script = 'read -r _ || { read -r pid < "$2" && [ "$pid" = "$1" ] && kill -INT "$1"; }';

/** A best effort: the watch can be killed too. @returns dismisses it, before the server is stopped on purpose */
function stopWithParent(pid: number, cluster: Cluster): () => void {
  const watch = spawn("/bin/sh", ["-c", script, "sh", String(pid), pidFileOf(cluster)], {
    // A process group of its own: Ctrl-C in a terminal reaches only us, and we drain first.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    cwd: "/",
    env: {},
    ...cluster.account,
  });
  watch.on("error", () => {});
  watch.stdin.on("error", () => {});
  watch.unref();
  if (watch.stdin instanceof Socket) watch.stdin.unref();
  return () => watch.stdin.end("dismissed\n");
}

const probeEveryMs = 250;

/** A slow server is left alone, a failed restart retried. @returns ends it; resolves once no restart is in progress */
function supervise(isRunning: () => Promise<boolean>, restart: () => Promise<void>): () => Promise<void> {
  const ended = new AbortController();
  const watch = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await delay(probeEveryMs, undefined, { signal: ended.signal, ref: false }).catch(() => {});
      if (!ended.signal.aborted && !(await isRunning())) await restart().catch(() => {});
    }
  };
  const watching = watch();
  return async () => {
    ended.abort();
    await watching;
  };
}

/** Repeatable. The owner runs the migrations, so that the service can never change or drop a table. */
async function ensureRoles(superuserUrl: string, passwords: RolePasswords): Promise<void> {
  const sql = postgres(superuserUrl, { max: 1, onnotice: () => {} });
  try {
    const logins = { [ownerRole]: passwords.owner, [appRole]: passwords.app };
    for (const [role, password] of Object.entries(logins)) {
      const [present] = await sql`select 1 from pg_roles where rolname = ${role}`;
      if (!present) await sql`create role ${sql(role)} login`;
      // PostgreSQL takes no parameter here; the password is our own hexadecimal text.
      await sql.unsafe(`alter role ${role} password '${password}'`);
    }
    // An acknowledged decision is on disk, whatever the server's default is.
    await sql`alter role ${sql(appRole)} set synchronous_commit = on`;
    const [present] = await sql`select 1 from pg_database where datname = ${databaseName}`;
    if (!present) await sql`create database ${sql(databaseName)} owner ${sql(ownerRole)}`;
  } finally {
    await sql.end();
  }
}
