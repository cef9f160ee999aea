import { type JwksDocument, toJwks, type VerificationKey } from "@svc/tokens";
import { type CheckedSeal, chainWalk } from "./chain.ts";
import { firstIdAt, timeOfId } from "./entries.ts";
import { examineBatch } from "./examine-batch.ts";
import type { Finding } from "./finding.ts";
import { idOf } from "./leaf.ts";
import { type RecordReader, readColumns, readSeals } from "./record-reader.ts";
import { readRetirements } from "./retirements.ts";
import { countQuery, rowsQuery } from "./rows-query.ts";
import { examineSchema } from "./schema.ts";
import type { Seal } from "./seal.ts";
import { sourceFacts, sources } from "./sources.ts";

/** A seal by its number and hash. Kept elsewhere, it shows when the seal was removed. */
export interface SealHead {
  readonly batch: number;
  readonly hash: string;
}

export interface Examination {
  readonly reader: RecordReader;
  /** Those that the auditor trusts, by `kid`. */
  readonly keys: ReadonlyMap<string, VerificationKey>;
  /** Seals that were seen before. */
  readonly heads: readonly SealHead[];
  /** The auditor's clock: epoch milliseconds. */
  readonly nowMs: number;
  /** How old the oldest unsealed row may be. */
  readonly maxUnsealedMs: number;
  /** Called after each batch. */
  readonly onBatch?: (batch: number, rows: number) => void;
}

export interface RetiredRows {
  /** Of which rows are past retention. */
  readonly batches: number;
  readonly rows: number;
  /** Those whose missing rows are not findings. */
  readonly months: readonly string[];
  /** Of these, the ones whose event is not sealed yet. Unsealed at that time (epoch milliseconds), it is a finding. */
  readonly notProvableYet: readonly { readonly month: string; readonly sealedByMs: number }[];
}

export interface Examined {
  readonly batches: number;
  /** Rows as they were sealed. */
  readonly rows: number;
  readonly retired: RetiredRows;
  readonly head: (SealHead & { readonly sealedAtMs: number | null }) | null;
  readonly unsealed: { readonly rows: number; readonly oldestMs: number | null };
  /** Every key that the chain knows, for checking proofs of rows that older ones sealed. */
  readonly keys: JwksDocument;
}

/** Walks the whole chain and every row before its end; yields each finding, and returns the totals. */
export async function* examineRecord(examination: Examination): AsyncGenerator<Finding, Examined> {
  const { reader, keys, heads, nowMs, maxUnsealedMs, onBatch } = examination;
  yield* await examineSchema(reader);
  const retirements = await readRetirements(reader, { nowMs, maxUnsealedMs });
  for (const { month, fault } of retirements) if (fault !== undefined) yield { kind: fault, month };
  const excused = retirements.filter(({ fault }) => fault === undefined || fault === "retirement_unsealed");
  const retired = new Set(excused.map(({ month }) => month));
  const notProvableYet = retirements.flatMap(({ month, sealedByMs }) =>
    sealedByMs === undefined ? [] : [{ month, sealedByMs }],
  );
  const facts = { reader, columns: await readColumns(reader), retired };

  const walk = chainWalk(keys);
  const seen = new Map<number, string>();
  let [batches, rows, retiredRows, retiredBatches, signedThrough] = [0, 0, 0, 0, 0];
  let before: CheckedSeal | undefined;
  let last: CheckedSeal | undefined;
  for await (const stored of readSeals(reader)) {
    const checked = await walk.next(stored);
    yield* sealFindings(checked, before);
    if (checked.isPinned) signedThrough = checked.batch;
    if (heads.some(({ batch }) => batch === checked.batch)) seen.set(checked.batch, checked.hash);
    if (checked.seal !== undefined) {
      const examined = await examineBatch(facts, checked.seal, stored);
      yield* examined.findings;
      rows += examined.intact;
      retiredRows += examined.retired;
      if (examined.retired > 0) retiredBatches++;
    }
    before = checked;
    // What is no seal has its own finding.
    if (checked.faults.length === 0) last = checked;
    batches++;
    onBatch?.(checked.batch, rows);
  }
  if (last !== undefined && last.batch > signedThrough) {
    yield { kind: "not_vouched", batch: signedThrough + 1, throughBatch: last.batch };
  }
  for (const head of heads) {
    if (seen.get(head.batch) !== head.hash) yield { kind: "head_missing", batch: head.batch };
  }
  yield* futureRows(examination);
  const unsealed = await readTail(reader, last?.seal);
  if (unsealed.oldestMs !== null && unsealed.oldestMs < nowMs - maxUnsealedMs) {
    yield { kind: "unsealed_too_long" };
  }
  return {
    batches,
    rows,
    retired: { batches: retiredBatches, rows: retiredRows, months: [...retired], notProvableYet },
    head: last === undefined ? null : { batch: last.batch, hash: last.hash, sealedAtMs: last.seal?.sealedAtMs ?? null },
    unsealed,
    keys: toJwks(walk.keys()),
  };
}

function* sealFindings({ batch, faults, strays }: CheckedSeal, before: CheckedSeal | undefined): Generator<Finding> {
  const expected = (before?.batch ?? 0) + 1;
  const isUnchained = faults.includes("not_chained");
  const isGap = batch > expected && isUnchained;
  if (isGap) yield { kind: "seal_removed", batch: expected, throughBatch: batch - 1 };
  // After a gap no seal follows the one before it: the gap is the finding.
  for (const fault of faults) if (!(isGap && fault === "not_chained")) yield { kind: `seal_${fault}`, batch };
  for (const stray of strays) yield { kind: "seal_stray", batch: stray };
}

const dayMs = 86_400_000;
/** Of each source; more are not reported. */
const maxFutureRows = 100;

/** Rows that would never be sealed. Clocks differ by far less than a day. */
async function* futureRows({ reader, nowMs }: Examination): AsyncGenerator<Finding> {
  for (const source of sources) {
    const range = { after: firstIdAt(nowMs + dayMs), through: null };
    const selection = { source, columns: [sourceFacts[source].id], range, limit: maxFutureRows };
    for (const row of await reader.query(rowsQuery(selection))) {
      yield { kind: "row_from_future", source, id: idOf(source, row) ?? "" };
    }
  }
}

/** Rows after the last seal. */
async function readTail(reader: RecordReader, last: Seal | undefined): Promise<Examined["unsealed"]> {
  let rows = 0;
  const firsts: number[] = [];
  for (const source of sources) {
    const after = last?.ranges[source].through ?? null;
    const [count] = await reader.query(countQuery(source, after));
    rows += Number(count?.rows ?? 0);
    const selection = { source, columns: [sourceFacts[source].id], range: { after, through: null }, limit: 1 };
    const [first] = await reader.query(rowsQuery(selection));
    const id = first && idOf(source, first);
    if (id !== undefined) firsts.push(timeOfId(id));
  }
  return { rows, oldestMs: firsts.length === 0 ? null : Math.min(...firsts) };
}
