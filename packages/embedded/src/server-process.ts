import { readFile, writeFile } from "node:fs/promises";
import { platform } from "node:os";
import { basename, join } from "node:path";
import { run } from "./server-account.ts";

export const pidFileIn = (clusterFolder: string): string => join(clusterFolder, "postmaster.pid");

const readPidFile = (clusterFolder: string) => readFile(pidFileIn(clusterFolder), "utf8").catch(() => "");

/** The process id of the cluster's running server, even one that another process started; undefined where none runs. */
export async function serverPid(clusterFolder: string): Promise<number | undefined> {
  const pid = Number.parseInt(await readPidFile(clusterFolder), 10);
  if (!(pid > 0)) return undefined;
  const args = await commandLine(pid);
  return basename(args[0] ?? "") === "postgres" && args.join(" ").includes(`-D ${clusterFolder}`) ? pid : undefined;
}

/**
 * Makes a stale `postmaster.pid` harmless: PostgreSQL takes any process with that id for a running server and refuses to
 * start. The file stays: its other lines let the server find backends of a killed one that still hold the shared memory.
 */
export async function clearStalePid(clusterFolder: string): Promise<void> {
  const text = await readPidFile(clusterFolder);
  if (text !== "") await writeFile(pidFileIn(clusterFolder), text.replace(/^\d+/, String(noProcess)));
}

/** Above the largest process id of any system. */
const noProcess = 2 ** 31 - 1;

/** The arguments of a process, readable across accounts; empty where it has ended. */
async function commandLine(pid: number): Promise<readonly string[]> {
  try {
    if (platform() === "linux") return (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0");
    return (await run("ps", ["-o", "args=", "-p", String(pid)])).split(" ");
  } catch {
    return [];
  }
}
