import { readdir, readFile } from "node:fs/promises";

/** `/proc/PID/stat` after the program's name, which may hold any byte: state, parent, group (proc_pid_stat(5)). */
const groupIn = (stat: string): number => Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]);

const residentIn = (status: string): number => Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;

/**
 * Resident bytes by process group, of the groups that are asked for; empty where there is no `/proc`. Pages that
 * processes share count for each of them.
 */
export async function groupMemory(groups: ReadonlySet<number>): Promise<ReadonlyMap<number, number>> {
  const bytes = new Map<number, number>();
  const entries = groups.size === 0 ? [] : await readdir("/proc").catch((): string[] => []);
  for (const pid of entries.filter((entry) => /^\d+$/.test(entry))) {
    const group = groupIn(await text(`/proc/${pid}/stat`));
    if (!groups.has(group)) continue;
    bytes.set(group, (bytes.get(group) ?? 0) + residentIn(await text(`/proc/${pid}/status`)));
  }
  return bytes;
}

/** A process may end while it is read. */
const text = (path: string): Promise<string> => readFile(path, "latin1").catch(() => "");
