import { readFile, writeFile } from "node:fs/promises";
import { platform } from "node:os";
import { basename, join } from "node:path";
import { run } from "./run.ts";

/**
 * Readies a cluster for a start: a server that outlived its killed parent is stopped, and a `postmaster.pid`
 * whose number another process bears by now is made harmless. No other process is ever signalled.
 * @param stop stops the server of this cluster and resolves once it is gone
 */
export async function clearOrphan(cluster: string, stop: () => Promise<void>): Promise<void> {
  const pidFile = join(cluster, "postmaster.pid");
  const text = await readFile(pidFile, "utf8").catch(() => "");
  const pid = Number.parseInt(text, 10);
  if (!Number.isSafeInteger(pid) || pid <= 0) return;
  const args = await commandLine(pid);
  if (args === undefined) return;
  if (isServerOf(cluster, args)) await stop();
  // Not removed: its other lines let the server find backends that still hold the shared memory.
  else await writeFile(pidFile, text.replace(/^\d+/, String(noProcess)));
}

/** Above the largest process number of any system. */
const noProcess = 2 ** 31 - 1;

const isServerOf = (cluster: string, args: readonly string[]): boolean =>
  basename(args[0] ?? "") === "postgres" && args.join(" ").includes(`-D ${cluster}`);

/** The arguments of a process, undefined where there is none, empty where it ended unreaped; readable across accounts. */
async function commandLine(pid: number): Promise<string[] | undefined> {
  try {
    if (platform() === "linux") return (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0");
    return (await run("ps", ["-o", "args=", "-p", String(pid)])).split(" ");
  } catch {
    return undefined;
  }
}
