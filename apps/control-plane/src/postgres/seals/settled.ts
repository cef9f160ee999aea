import type { Sql } from "../database.ts";

/**
 * The latest moment of the database's clock before which no running transaction began to write: every row of such a
 * transaction is visible, or never will be. Undefined before the first one.
 */
export type Settled = () => Promise<number | undefined>;

interface Moment {
  readonly atMs: number;
  /** Number of an own transaction. One that began to write earlier has a lower number. */
  readonly transaction: bigint;
}

/** A moment is settled when the oldest running transaction began to write after it. 64-bit numbers never wrap around. */
export function settledMoments(sql: Sql): Settled {
  let settledMs: number | undefined;
  let waiting: Moment | undefined;
  const look = async (): Promise<void> => {
    // now() is before the snapshot. It takes a number of its own: a running transaction may have the snapshot's end.
    const [row] = await sql<{ at: number; own: string; oldest: string }[]>`
      select now() as at, pg_current_xact_id()::text as own, pg_snapshot_xmin(pg_current_snapshot())::text as oldest`;
    if (row === undefined) throw new Error("the database returned no snapshot");
    const [own, oldest] = [BigInt(row.own), BigInt(row.oldest)];
    // A restored database may count from a lower number.
    const previous = waiting !== undefined && waiting.transaction < own ? waiting : undefined;
    if (previous !== undefined && oldest < previous.transaction) return;
    if (previous !== undefined) settledMs = previous.atMs;
    waiting = { atMs: row.at, transaction: own };
  };
  return async () => {
    await look();
    // Without writers the second look settles the moment of the first.
    await look();
    return settledMs;
  };
}
