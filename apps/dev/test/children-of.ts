import { readdirSync, readFileSync } from "node:fs";

export interface ChildOf {
  readonly pid: number;
  readonly command: string;
}

/** The running children of a process. */
export function childrenOf(parent: number): ChildOf[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name): ChildOf[] => {
      try {
        const [, ppid] = /^\d+ \(.*\) \S (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, "utf8")) ?? [];
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").trim();
        return Number(ppid) === parent && command !== "" ? [{ pid: Number(name), command }] : [];
      } catch {
        return [];
      }
    });
}

/** False for a zombie too. */
export function isAlive(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8") !== "";
  } catch {
    return false;
  }
}
