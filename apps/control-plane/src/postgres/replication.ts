import type { Replication } from "../ports/replication.ts";
import type { Pool } from "./database.ts";

export const replication = (primary: Pool, standby: Pool): Replication => ({
  async written() {
    const [row] = await primary.rows<{ position: bigint }>`
      select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::int8 as position`;
    if (row === undefined) throw new Error("the primary returned no log position");
    return row.position;
  },
  async replayed() {
    const [row] = await standby.rows<{ position: bigint | null }>`
      select case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::int8 end as position`;
    return row?.position ?? null;
  },
});
