import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { countCpu, cpuFigures, type Processes } from "../measure/cpu.ts";
import { ascending, quantile } from "../measure/statistics.ts";
import type { Subject } from "../measure/trial.ts";
import { insertScript } from "./row-table.ts";

export interface PgbenchOptions {
  readonly path: string;
  readonly name: string;
  readonly url: string;
  readonly clients: number;
  readonly seconds: number;
  readonly processes: Processes;
}

/** Commits one row at a time, at the speed of PostgreSQL's own driver. pgbench measures in whole seconds. */
export const pgbench = (options: PgbenchOptions): Subject => ({
  name: options.name,
  async sample() {
    const folder = mkdtempSync(join(tmpdir(), "svc-pgbench-"));
    try {
      return await run(options, folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
});

async function run({ path, url, clients, seconds, processes }: PgbenchOptions, folder: string) {
  writeFileSync(join(folder, "insert.sql"), insertScript);
  const wholeSeconds = Math.max(1, Math.round(seconds));
  const load = ["-c", `${clients}`, "-j", `${Math.min(2, clients)}`, "-T", `${wholeSeconds}`];
  const count = countCpu(processes);
  // Prepared statements, no vacuum, a log line for each transaction.
  await promisify(execFile)(path, ["-n", "-M", "prepared", "-f", "insert.sql", "-l", ...load], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...connectionOf(url) },
  });
  const cpu = count();
  const latenciesMs = ascending(readdirSync(folder).flatMap((name) => latenciesOf(name, folder)));
  return {
    rate: latenciesMs.length / wholeSeconds,
    p50Ms: quantile(latenciesMs, 0.5),
    ...cpuFigures(cpu, latenciesMs.length),
  };
}

/** For libpq, in the environment: every user can read a command line. */
function connectionOf(url: string): Readonly<Record<string, string>> {
  const { hostname, port, username, password, pathname } = new URL(url);
  return { PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password, PGDATABASE: pathname.slice(1) };
}

/** Client, transaction, microseconds, ... */
const latenciesOf = (name: string, folder: string): number[] =>
  name.startsWith("pgbench_log")
    ? readFileSync(join(folder, name), "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => Number(line.split(" ")[2]) / 1000)
    : [];
