import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

/** The uid and gid of the database server; undefined for those of this process. */
export type ServerAccount = { uid: number; gid: number } | undefined;

const accountName = "svc-postgres";
const execute = promisify(execFile);

/** Our own environment is left out: `PGDATA`, `PGPORT` or a locale would change what the server's programs do. */
const environment = { PATH: process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

/** Runs a program as `account` and returns its trimmed output. Rejects with its standard error. */
export async function run(file: string, args: readonly string[], account?: ServerAccount): Promise<string> {
  // The account may be unable to read root's working folder.
  const { stdout } = await execute(file, args, { cwd: "/", env: environment, ...account });
  return stdout.trim();
}

export const succeeds = (file: string, args: readonly string[], account: ServerAccount): Promise<boolean> =>
  run(file, args, account).then(
    () => true,
    () => false,
  );

/** PostgreSQL refuses to run as root: root uses the account that owns the cluster, else one of its own. */
export async function serverAccount(clusterHome: string): Promise<ServerAccount> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(clusterHome).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return (await lookUp()) ?? (await createAccount());
}

async function lookUp(): Promise<ServerAccount> {
  try {
    const [uid, gid] = await Promise.all([run("id", ["-u", accountName]), run("id", ["-g", accountName])]);
    return { uid: Number(uid), gid: Number(gid) };
  } catch {
    return undefined;
  }
}

async function createAccount(): Promise<ServerAccount> {
  const options = ["--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin"];
  let refusal: unknown;
  // Another process may hold the lock of the account files for a moment.
  for (let attempt = 0; attempt < 10; attempt += 1) {
    await run("useradd", [...options, accountName]).catch((cause) => {
      refusal = cause;
    });
    const account = await lookUp();
    if (account) return account;
    await delay(200);
  }
  throw new Error(
    `the embedded PostgreSQL cannot run as root and the account ${accountName} could not be created; ` +
      "start as an ordinary user, or set DATABASE_URL",
    { cause: refusal },
  );
}
