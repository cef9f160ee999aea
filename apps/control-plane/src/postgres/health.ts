import type { Pool } from "./database.ts";

/** Resolves if the primary takes a durable commit now (docs/reference/routes.md#health). */
export async function probeDatabase(pool: Pool): Promise<void> {
  const [row] = await pool.rows<{ writable: boolean; durable: boolean }>`
    select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writable,
      current_setting('fsync') = 'on' and current_setting('synchronous_commit') <> 'off' as durable`;
  if (!row?.writable) throw new Error("the database is read-only");
  if (!row.durable) throw new Error("the database may lose commits that it acknowledged");
}
