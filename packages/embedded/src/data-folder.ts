import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import {
  access,
  chmod,
  chown,
  constants,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type ServerAccount, succeeds } from "./server-account.ts";

/**
 * A data folder holds:
 *
 *     lock              held by the process that uses the folder
 *     passwords.json    of the three login roles, made once
 *     connection.json   the addresses of the running server, for people and tools
 *     postgres/         the cluster and its log, owned by the server's account (or a link to it)
 */
export interface RolePasswords {
  readonly superuser: string;
  readonly owner: string;
  readonly app: string;
}

/** The account passes through the folder but cannot list it; secrets in it have mode 0600. */
const passThrough = 0o711;

const relocated = "/var/lib/agent-authorization-service";

export async function createDataFolder(dataDir: string): Promise<string> {
  const made = await mkdir(dataDir, { recursive: true, mode: passThrough });
  if (made !== undefined) await chmod(dataDir, passThrough);
  await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK).catch((cause) => {
    throw new Error(`the data folder ${dataDir} belongs to another user; choose another with SVC_DATA_DIR`, { cause });
  });
  return realpath(dataDir);
}

/** Made once: the roles are in the cluster, which outlives the process. */
export async function rolePasswords(dataDir: string): Promise<RolePasswords> {
  const path = join(dataDir, "passwords.json");
  if (existsSync(path)) return JSON.parse(await readFile(path, "utf8"));
  const newPassword = (): string => randomBytes(24).toString("hex");
  const passwords = { superuser: newPassword(), owner: newPassword(), app: newPassword() };
  await writePrivate(path, passwords);
  return passwords;
}

/** Written with mode 0600 from the first byte, and renamed into place when complete. */
export async function writePrivate(path: string, value: object): Promise<void> {
  const partial = `${path}.${process.pid}`;
  await writeFile(partial, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await rename(partial, path);
}

/** The real path; elsewhere and linked where the server's account cannot reach the data folder (one below /root). */
export async function clusterHome(dataDir: string, account: ServerAccount): Promise<string> {
  const place = join(dataDir, "postgres");
  const present = await realpath(place).catch(() => undefined);
  if (present !== undefined) return present;
  const isReachable = (await passes(dataDir, account)) || (await letPass(dataDir, account));
  const home = isReachable ? place : await relocatedHome();
  if (isReachable) await mkdir(home, { mode: 0o700 });
  if (account !== undefined) await chown(home, account.uid, account.gid);
  if (isReachable) return home;
  await rm(place, { force: true });
  await symlink(home, place);
  return home;
}

const passes = (dataDir: string, account: ServerAccount): Promise<boolean> =>
  succeeds("test", ["-x", dataDir], account);

/** Opens the data folder itself, never a folder above it. */
async function letPass(dataDir: string, account: ServerAccount): Promise<boolean> {
  const { mode } = await stat(dataDir);
  await chmod(dataDir, mode | 0o001);
  if (await passes(dataDir, account)) return true;
  await chmod(dataDir, mode);
  return false;
}

async function relocatedHome(): Promise<string> {
  await mkdir(relocated, { recursive: true });
  await chmod(relocated, 0o755);
  return mkdtemp(join(relocated, "postgres-"));
}

/** Another running process uses the data folder. */
export class DataFolderInUse extends Error {
  readonly code = "data_folder_in_use";
  constructor(dataDir: string) {
    super(`another process uses the data folder ${dataDir}; stop it, or choose another folder with SVC_DATA_DIR`);
    this.name = "DataFolderInUse";
  }
}

const sqliteBusy = 5;

/** Holds `<dataDir>/lock`, which the kernel frees however we end. @returns frees it @throws DataFolderInUse */
export function lockFolder(dataDir: string): () => void {
  const lock = new DatabaseSync(`${dataDir}/lock`);
  try {
    lock.exec("begin exclusive");
  } catch (cause) {
    lock.close();
    throw (cause as { errcode?: number }).errcode === sqliteBusy ? new DataFolderInUse(dataDir) : cause;
  }
  return () => lock.close();
}
