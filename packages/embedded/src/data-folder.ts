import { randomBytes } from "node:crypto";
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
import { run } from "./run.ts";
import type { ServerAccount } from "./server-account.ts";

/**
 * What a data folder holds:
 *
 *     lock              held by the process that uses the folder
 *     passwords.json    of the three login roles, made once
 *     connection.json   the addresses of the running server
 *     postgres/         the cluster and its log, owned by the account the server runs as (or a link to it)
 */
export interface RolePasswords {
  superuser: string;
  owner: string;
  app: string;
}

/** `connection.json`, for people and tools that want to look into the database. */
export interface Connection {
  superuser_url: string;
  owner_url: string;
  app_url: string;
}

/** The account must be able to pass through the folder, not to list it: what is secret in it has mode 0600. */
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

/** Made once and kept: the roles are in the cluster, which outlives the process. */
export async function rolePasswords(dataDir: string): Promise<RolePasswords> {
  const path = join(dataDir, "passwords.json");
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
  }
  const passwords = { superuser: newPassword(), owner: newPassword(), app: newPassword() };
  await writePrivate(path, passwords);
  return passwords;
}

const newPassword = (): string => randomBytes(24).toString("hex");

export const writeConnection = (dataDir: string, connection: Connection): Promise<void> =>
  writePrivate(join(dataDir, "connection.json"), connection);

/** Readable by its owner alone from the first byte on, and whole or not there. */
async function writePrivate(path: string, value: object): Promise<void> {
  const partial = `${path}.${process.pid}`;
  await writeFile(partial, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await rename(partial, path);
}

/**
 * The real path of the folder that holds the cluster and its log. Where the server's account cannot pass through
 * to the data folder (one below /root), it is made elsewhere and a link stands in its place.
 */
export async function clusterHome(dataDir: string, account: ServerAccount): Promise<string> {
  const place = join(dataDir, "postgres");
  const present = await realpath(place).catch(() => undefined);
  if (present !== undefined) return present;
  if ((await passes(dataDir, account)) || (await letPass(dataDir, account))) {
    await mkdir(place, { mode: 0o700 });
    await giveTo(place, account);
    return place;
  }
  const elsewhere = await relocatedHome();
  await giveTo(elsewhere, account);
  await rm(place, { force: true });
  await symlink(elsewhere, place);
  return elsewhere;
}

const passes = (dataDir: string, account: ServerAccount): Promise<boolean> =>
  run("test", ["-x", dataDir], account).then(
    () => true,
    () => false,
  );

/** Of the data folder itself, not of what is above it: that is not ours to open. */
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

async function giveTo(folder: string, account: ServerAccount): Promise<void> {
  if (account !== undefined) await chown(folder, account.uid, account.gid);
}
