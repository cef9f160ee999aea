import { readFile, writeFile } from "node:fs/promises";
import { platform } from "node:os";
import { basename, join } from "node:path";
import { run } from "./run.ts";

export const pidFileIn = (clusterFolder: string): string => join(clusterFolder, "postmaster.pid");

/** The process number of the living server of a cluster, whoever started it; undefined where there is none. */
export async function serverPid(clusterFolder: string): Promise<number | undefined> {
  const pid = Number.parseInt(await readFile(pidFileIn(clusterFolder), "utf8").catch(() => ""), 10);
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const args = await commandLine(pid);
  return args !== undefined && isServerOf(clusterFolder, args) ? pid : undefined;
}

/**
 * Makes a stale `postmaster.pid` harmless: PostgreSQL takes any process that bears its number by now for a running
 * server, and refuses to start. Not removed, since its other lines let the server find backends of a killed one that
 * still hold the shared memory.
 */
export async function disownPid(clusterFolder: string): Promise<void> {
  const file = pidFileIn(clusterFolder);
  const text = await readFile(file, "utf8").catch(() => "");
  if (text !== "") await writeFile(file, text.replace(/^\d+/, String(noProcess)));
}

/** Above the largest process number of any system. */
const noProcess = 2 ** 31 - 1;

const isServerOf = (clusterFolder: string, args: readonly string[]): boolean =>
  basename(args[0] ?? "") === "postgres" && args.join(" ").includes(`-D ${clusterFolder}`);

/** The arguments of a process, undefined where there is none, empty where it ended unreaped; readable across accounts. */
async function commandLine(pid: number): Promise<string[] | undefined> {
  try {
    if (platform() === "linux") return (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0");
    return (await run("ps", ["-o", "args=", "-p", String(pid)])).split(" ");
  } catch {
    return undefined;
  }
}
