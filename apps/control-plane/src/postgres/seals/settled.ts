import type { Sql } from "../database.ts";

/**
 * Tells the latest moment, on the database's clock, of which no writing transaction still runs; undefined where none is
 * known yet. Rows that such a transaction inserted are all there, or never will be.
 */
export type Settled = () => Promise<number | undefined>;

interface Moment {
  readonly atMs: number;
  /** Of a transaction of our own: each that began to write before has a lower number. */
  readonly transaction: bigint;
}

/**
 * A moment is settled when the oldest running transaction began to write after it. Numbers are of 64 bits, so they never
 * wrap around.
 */
export function settledMoments(sql: Sql): Settled {
  let settledMs: number | undefined;
  let waiting: Moment | undefined;
  const look = async (): Promise<void> => {
    // now() is the start of the statement's transaction, so it lies before its snapshot.
    // A number is taken, since that of the snapshot's end is one that a running transaction may have.
    const [row] = await sql<{ at: Date; own: string; oldest: string }[]>`
      select now() as at, pg_current_xact_id()::text as own, pg_snapshot_xmin(pg_current_snapshot())::text as oldest`;
    if (row === undefined) throw new Error("the database told no snapshot");
    const [own, oldest] = [BigInt(row.own), BigInt(row.oldest)];
    // A restored database may count anew: what was asked of the one before says nothing of it.
    const asked = waiting !== undefined && waiting.transaction < own ? waiting : undefined;
    if (asked !== undefined && oldest < asked.transaction) return;
    if (asked !== undefined) settledMs = asked.atMs;
    waiting = { atMs: row.at.getTime(), transaction: own };
  };
  return async () => {
    await look();
    // A second look settles the moment of the first, where nobody is writing.
    await look();
    return settledMs;
  };
}
