import { idOf, perSource, type Row, rowsQuery, type Source, sourceFacts, sources, timeOfId } from "@svc/seals";
import type { SigningKey } from "@svc/tokens";
import type { RecordSeals } from "../../ports/record-seals.ts";
import { oneAtATime, type Pool, type Sql, type Transaction } from "../database.ts";
import { databaseNow, readAsSealed, sealNextBatch } from "./batch.ts";
import { type Head, type ProvenHead, readHead, type SealProof } from "./head.ts";

export interface RecordSealSettings {
  /** Its deadline bounds reads only. */
  readonly pool: Pool;
  readonly signingKey: () => Promise<SigningKey>;
  readonly proof: SealProof;
  /** Default: {@link settleMs}. */
  readonly settleMs?: Readonly<Record<Source, number>>;
  /** Of a batch. Default 2000, a list of 96 KB. */
  readonly maxRows?: number;
}

/**
 * An identifier must be so much older than the settled moment before its row is sealed: it is made before the insert,
 * by another clock. An exchange has its decision's identifier and may follow a minute later, its mint another minute
 * after that (docs/reference/tokens.md#single-use).
 */
export const settleMs: Readonly<Record<Source, number>> = {
  session: 60_000,
  decision: 60_000,
  exchange: 180_000,
  mint: 300_000,
  renewal: 60_000,
  event: 60_000,
};

/** Any constant, the same in every process. */
const advisoryLock = 7_270_125_202;

export function recordSeals(settings: RecordSealSettings): RecordSeals {
  const { pool, signingKey, proof, settleMs: settling = settleMs, maxRows = 2_000 } = settings;
  const { sql } = pool;
  const { authenticity } = proof;
  let unproven: readonly number[] = [];
  const readProvenHead = async (tx: Transaction): Promise<ProvenHead> => {
    const found = await readHead(tx, proof);
    unproven = found.unproven;
    return found;
  };
  const settled = settledMoments(sql);
  return {
    async seal() {
      const atMs = await settled();
      if (atMs === undefined) return "done";
      const limits = { settledMs: perSource((source) => atMs - settling[source]), maxRows };
      for (;;) {
        const key = await signingKey();
        const next = async (tx: Transaction) =>
          sealNextBatch(tx, { ...(await readProvenHead(tx)), ...limits, key, authenticity });
        const outcome = await sql.begin((tx) => oneAtATime(tx, advisoryLock, next));
        if (outcome !== "more") return outcome === "done" ? "done" : "busy";
      }
    },
    nowMs: () => pool.run(databaseNow),
    oldestUnsealedMs: () => pool.transaction(async (tx) => oldestUnsealed(tx, (await readProvenHead(tx)).head)),
    unproven: () => unproven,
  };
}

async function oldestUnsealed(tx: Transaction, head: Head | undefined): Promise<number | null> {
  await readAsSealed(tx);
  const firsts: string[] = [];
  for (const source of sources) {
    const range = { after: head?.seal.ranges[source].through ?? null, through: null };
    const { text, values } = rowsQuery({ source, columns: [sourceFacts[source].id], range, limit: 1 });
    const [row] = await tx.unsafe<Row[]>(text, values, { prepare: true });
    const id = row && idOf(source, row);
    if (id !== undefined) firsts.push(id);
  }
  const [first] = firsts.toSorted();
  return first === undefined ? null : timeOfId(first);
}

interface Moment {
  readonly atMs: number;
  /** Number of an own transaction. One that began to write earlier has a lower number. */
  readonly transaction: bigint;
}

/**
 * The latest moment of the database's clock before which no running transaction began to write: every row of such a
 * transaction is visible, or never will be. Undefined before the first one. A moment is settled when the oldest running
 * transaction began to write after it. 64-bit numbers never wrap around.
 */
export function settledMoments(sql: Sql): () => Promise<number | undefined> {
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
