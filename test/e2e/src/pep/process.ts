import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** Linux's figures of the enforcement point's process. */

export const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

export const residentMibOf = (pid: number): number => mibIn(pid, "VmRSS");

/** Records the peak of resident memory from here on; returns it in MiB. */
export function watchPeakMib(pid: number): () => number {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  return () => mibIn(pid, "VmHWM");
}

function mibIn(pid: number, field: string): number {
  const [, kib] = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) / 1024;
}
