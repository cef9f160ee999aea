import { idOf, perSource, type Row, rowsQuery, type Source, sourceFacts, sources, timeOfId } from "@svc/seals";
import type { SigningKey } from "@svc/tokens";
import type { RecordSeals } from "../../ports/record-seals.ts";
import { oneAtATime, type Pool, type Sql, type Transaction } from "../database.ts";
import { readAsSealed, readHead, sealNextBatch } from "./batch.ts";
import { settledMoments } from "./settled.ts";

export interface RecordSealSettings {
  /** Its deadline bounds reads only. */
  readonly pool: Pool;
  readonly signingKey: () => Promise<SigningKey>;
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
  const { pool, signingKey, settleMs: settling = settleMs, maxRows = 2_000 } = settings;
  const { sql } = pool;
  const settled = settledMoments(sql);
  return {
    async seal() {
      const atMs = await settled();
      if (atMs === undefined) return "done";
      const limits = { settledMs: perSource((source) => atMs - settling[source]), maxRows };
      for (;;) {
        const key = await signingKey();
        const outcome = await sql.begin((tx) => oneAtATime(tx, advisoryLock, () => sealNextBatch(tx, key, limits)));
        if (outcome !== "more") return outcome === "done" ? "done" : "busy";
      }
    },
    nowMs: () => pool.run(databaseNow),
    oldestUnsealedMs: () => pool.transaction(oldestUnsealed),
  };
}

async function databaseNow(sql: Sql): Promise<number> {
  const [row] = await sql<{ at: number }[]>`select now() as at`;
  if (row === undefined) throw new Error("the database returned no time");
  return row.at;
}

async function oldestUnsealed(tx: Transaction): Promise<number | null> {
  await readAsSealed(tx);
  const head = await readHead(tx);
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
