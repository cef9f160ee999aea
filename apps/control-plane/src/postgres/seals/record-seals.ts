import { idOf, perSource, type Row, rowsQuery, type Source, sourceFacts, sources, timeOfId } from "@svc/seals";
import type { SigningKey } from "@svc/tokens";
import type { RecordSeals } from "../../ports/record-seals.ts";
import { bounded, type Sql, type Transaction } from "../database.ts";
import { oneAtATime } from "../one-at-a-time.ts";
import { readAsSealed, readHead, sealNextBatch } from "./batch.ts";
import { settledMoments } from "./settled.ts";

export interface RecordSealSettings {
  readonly sql: Sql;
  /** The key that signs now. */
  readonly signingKey: () => Promise<SigningKey>;
  readonly readDeadlineMs: number;
  /** Default: {@link settleMs}. */
  readonly settleMs?: Readonly<Record<Source, number>>;
  /** Of a batch. Default 2000: a list of 96 KB. */
  readonly maxRows?: number;
}

/**
 * How much older than the settled moment an identifier must be for its row to be sealed: what lies between making it and
 * inserting the row, and between the clocks of processes and database. An exchange bears its decision's identifier, and
 * may follow a minute later, its mint another minute after that (contract: Tokens, the single use).
 */
export const settleMs: Readonly<Record<Source, number>> = {
  session: 60_000,
  decision: 60_000,
  exchange: 180_000,
  mint: 300_000,
  renewal: 60_000,
  event: 60_000,
};

/** Any constant, the same in every process: one of them seals, the others come again. */
const advisoryLock = 7_270_125_202;

export function recordSeals(settings: RecordSealSettings): RecordSeals {
  const { sql, signingKey, readDeadlineMs, settleMs: settling = settleMs, maxRows = 2_000 } = settings;
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
    nowMs: () => bounded(readDeadlineMs, databaseNow(sql)),
    oldestUnsealedMs: () => bounded(readDeadlineMs, oldestUnsealed(sql)),
  };
}

async function databaseNow(sql: Sql): Promise<number> {
  const [row] = await sql<{ at: Date }[]>`select now() as at`;
  if (row === undefined) throw new Error("the database told no time");
  return row.at.getTime();
}

async function oldestUnsealed(sql: Sql): Promise<number | null> {
  // Wrapped, since the driver's type unwraps what a transaction answers.
  const { first } = await sql.begin(async (tx) => ({ first: await firstUnsealed(tx) }));
  return first === undefined ? null : timeOfId(first);
}

async function firstUnsealed(tx: Transaction): Promise<string | undefined> {
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
  return firsts.toSorted()[0];
}
