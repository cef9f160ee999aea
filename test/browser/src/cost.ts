import { readdirSync, readFileSync } from "node:fs";
import type { TestDatabase } from "@svc/test-support";
import postgres from "postgres";

/** Processor milliseconds so far, over the live threads (Linux: /proc/PID/task/TID/schedstat, nanoseconds). */
export function cpuOfProcess(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).reduce((ms, task) => {
    const [nanoseconds] = readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ");
    return ms + Number(nanoseconds) / 1e6;
  }, 0);
}

/** Work of the service's database so far, whose server is on this machine. */
export function databaseOf({ superuserUrl }: Pick<TestDatabase, "superuserUrl">) {
  const sql = postgres(superuserUrl, { max: 1, onnotice: () => {} });
  return {
    /** Processor milliseconds of the service's connections. */
    async cpuMs(): Promise<number> {
      const rows = await sql<{ pid: number }[]>`
        select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
      return rows.reduce((ms, { pid }) => ms + cpuOfProcess(pid), 0);
    },
    async sealedRows(): Promise<number> {
      // An entry is an identifier and a leaf, of 16 and 32 bytes.
      const [row] = await sql<
        { rows: number }[]
      >`select coalesce(sum(octet_length(entries)), 0)::float8 / 48 as rows from seal`;
      return row?.rows ?? 0;
    },
    /** Brings the statistics that autovacuum brings within a minute: a log does not come into being at once. */
    analyze: () => sql`analyze decision`,
    /** The list of observed denies reads no row of the log. */
    async isCounted(): Promise<boolean> {
      const [row] = await sql<{ left: boolean }[]>`
        select exists (select from decision where not enforced and deny_reason is not null
          and seq > would_block_counted()) as left`;
      return row?.left === false;
    },
    end: () => sql.end(),
  };
}
