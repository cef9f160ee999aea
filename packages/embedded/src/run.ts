import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { ServerAccount } from "./server-account.ts";

const execute = promisify(execFile);

/** Nothing of our environment reaches the server's programs: `PGDATA`, `PGPORT` or a locale would change what they do. */
const environment = { PATH: process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

/** Runs a program to its end, as `account` where given, and returns its trimmed output. Rejects with its standard error. */
export async function run(file: string, args: readonly string[], account?: ServerAccount): Promise<string> {
  // The working folder of root need not be readable by the account.
  const { stdout } = await execute(file, args, { cwd: "/", env: environment, ...account });
  return stdout.trim();
}
