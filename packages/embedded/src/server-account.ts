import { stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { run } from "./run.ts";

/** The uid and gid the database server runs as; undefined for those of this process. */
export type ServerAccount = { uid: number; gid: number } | undefined;

const accountName = "svc-postgres";

/**
 * PostgreSQL refuses to run as root. So root gives the server to whoever owns the cluster, be it the user who
 * made it before, and else to an account of its own.
 */
export async function serverAccount(cluster: string): Promise<ServerAccount> {
  if (process.getuid?.() !== 0) return undefined;
  return (await ownerOf(cluster)) ?? (await lookUp()) ?? (await createAccount());
}

async function ownerOf(cluster: string): Promise<ServerAccount> {
  const found = await stat(cluster).catch(() => undefined);
  return found && found.uid !== 0 ? { uid: found.uid, gid: found.gid } : undefined;
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
  let refusal: unknown;
  // Two starts at once, or any other tool, may hold the lock of the account files for a moment.
  for (let attempt = 0; attempt < 10; attempt += 1) {
    try {
      await run("useradd", [
        "--system",
        "--user-group",
        "--no-create-home",
        "--shell",
        "/usr/sbin/nologin",
        accountName,
      ]);
    } catch (cause) {
      refusal = cause;
    }
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
