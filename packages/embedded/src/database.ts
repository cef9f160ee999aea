import { resolve } from "node:path";
import { installedPackage, postgresBinaries } from "./binaries.ts";
import { type Cluster, ensureCluster, isRunning, pidFileOf, startCluster, stopCluster, superuser } from "./cluster.ts";
import { clusterHome, createDataFolder, rolePasswords, writeConnection } from "./data-folder.ts";
import { lockFolder } from "./folder-lock.ts";
import { stopWithParent } from "./parent-watch.ts";
import { appRole, databaseName, ensureRoles, ownerRole } from "./roles.ts";
import { serverAccount } from "./server-account.ts";
import { supervise } from "./supervise.ts";

/** A real PostgreSQL of our own, on loopback, for a machine with nothing installed. */
export interface EmbeddedPostgres {
  /** For migrations: owns the database and what is in it. */
  ownerUrl: string;
  /** For the service: may do what the migrations granted. */
  appUrl: string;
  /** For making further databases; the service never uses it. */
  superuserUrl: string;
  /** Rolls back what is open, stops the server and frees the folder. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL on `dataDir`, making it first where needed. The addresses also stand in
 * `<dataDir>/connection.json` (mode 0600). One process at a time may use a folder.
 *
 * As root the server runs as an account of its own. A server that ends by itself is started again on its port. After
 * a killed process the server ends too, or else the next start on the folder stops it; nothing acknowledged is lost.
 * Throws `DataFolderInUse`; any other error says what to do instead.
 */
export async function startEmbeddedPostgres({ dataDir }: { dataDir: string }): Promise<EmbeddedPostgres> {
  const folder = await createDataFolder(resolve(dataDir));
  const lock = lockFolder(folder);
  try {
    return await start(folder, () => lock.release());
  } catch (cause) {
    lock.release();
    throw cause;
  }
}

async function start(dataDir: string, release: () => void): Promise<EmbeddedPostgres> {
  const account = await serverAccount(`${dataDir}/postgres`);
  const binaries = await postgresBinaries(await installedPackage(), account);
  const cluster: Cluster = { binaries, account, home: await clusterHome(dataDir, account) };
  const passwords = await rolePasswords(dataDir);
  await ensureCluster(cluster, passwords.superuser);
  const { port, pid } = await startCluster(cluster);
  let dismissWatch = stopWithParent(pid, pidFileOf(cluster), account);
  const restart = async () => {
    dismissWatch();
    const restarted = await startCluster(cluster, port);
    dismissWatch = stopWithParent(restarted.pid, pidFileOf(cluster), account);
  };
  const supervision = supervise(() => isRunning(cluster), restart);
  const stop = once(async () => {
    await supervision.end();
    dismissWatch();
    await stopCluster(cluster);
    release();
  });
  const url = (role: string, password: string, database: string) =>
    `postgres://${role}:${password}@127.0.0.1:${port}/${database}`;
  const urls = {
    superuserUrl: url(superuser, passwords.superuser, "postgres"),
    ownerUrl: url(ownerRole, passwords.owner, databaseName),
    appUrl: url(appRole, passwords.app, databaseName),
  };
  try {
    await ensureRoles(urls.superuserUrl, passwords);
    await writeConnection(dataDir, {
      superuser_url: urls.superuserUrl,
      owner_url: urls.ownerUrl,
      app_url: urls.appUrl,
    });
  } catch (cause) {
    await stop();
    throw cause;
  }
  return { ...urls, stop };
}

function once(act: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= act();
    return done;
  };
}
