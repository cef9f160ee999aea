import { readdirSync, readFileSync } from "node:fs";
import type { Deployment } from "../deployment.ts";

/** Figures that must not grow, whatever the calls' results. */
export const measures = ["memoryMib", "descriptors", "connections", "deadRowsPercent"] as const;
export type Measure = (typeof measures)[number];

export interface Sample extends Readonly<Record<Measure, number>> {
  readonly atSeconds: number;
}

/** Of all processes of the service together, and of their database. */
export async function takeSample(deployment: Deployment, atSeconds: number): Promise<Sample> {
  const pids = [...deployment.controlPlanes, ...deployment.enforcementPoints].map(({ pid }) => pid());
  const sum = (of: (pid: number) => number) => pids.reduce((total, pid) => total + of(pid), 0);
  const [database] = await deployment.database.execute(`
    select (select count(*) from pg_stat_activity where usename = 'svc_app') as connections,
      (select 100.0 * sum(n_dead_tup) / greatest(sum(n_live_tup + n_dead_tup), 1) from pg_stat_user_tables) as dead`);
  return {
    atSeconds,
    memoryMib: sum(residentBytes) / 2 ** 20,
    descriptors: sum((pid) => readdirSync(`/proc/${pid}/fd`).length),
    connections: Number(database?.connections),
    deadRowsPercent: Number(database?.dead ?? 0),
  };
}

function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) * 1024;
}
