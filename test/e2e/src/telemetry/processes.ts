import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Linux's facts of a process. */

export const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);

/** Whether it still runs; a zombie does not. */
export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** Remote TCP ports of its connections. */
export function remotePortsOf(pid: number): number[] {
  const inodes = new Set(openSockets(pid));
  return readFileSync(`/proc/${pid}/net/tcp`, "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => inodes.has(fields[9] ?? ""))
    .map((fields) => Number.parseInt(fields[2]?.split(":")[1] ?? "0", 16))
    .filter((port) => port !== 0);
}

const openSockets = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
    } catch {
      return [];
    }
  });
