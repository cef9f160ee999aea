import { bounded, type Sql } from "./database.ts";

/**
 * Resolves when the primary would take a durable commit just now. A standby, a read-only server, and one that
 * acknowledges commits it may lose are refused (contract: health; specification: readiness).
 */
export async function probeDatabase(sql: Sql, deadlineMs: number): Promise<void> {
  const [row] = await bounded(
    deadlineMs,
    sql<{ writable: boolean; durable: boolean }[]>`
      select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writable,
        current_setting('fsync') = 'on' and current_setting('synchronous_commit') <> 'off' as durable`,
  );
  if (!row?.writable) throw new Error("the database is read-only");
  if (!row.durable) throw new Error("the database acknowledges commits that it may lose");
}
