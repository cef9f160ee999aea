import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** What Linux tells of the enforcement point's process. */

export const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

export const residentMibOf = (pid: number): number => mibIn(pid, "VmRSS");

/** Takes note of the most that is resident from here on; answers it in MiB. */
export function watchPeakMib(pid: number): () => number {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  return () => mibIn(pid, "VmHWM");
}

function mibIn(pid: number, field: string): number {
  const [, kib] = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) / 1024;
}
