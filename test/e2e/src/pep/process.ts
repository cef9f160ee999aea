import { readdirSync, readFileSync } from "node:fs";

/** What Linux tells of the enforcement point's process. */

export const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** Resident memory in MiB. */
export function residentMibOf(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) / 1024;
}
