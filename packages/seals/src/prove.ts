import { idBefore } from "./entries.ts";
import { leafOf, type Row } from "./leaf.ts";
import { makeProof, type Proof } from "./proof.ts";
import { type RecordReader, readLastBatch, readSealFrom, readStatementFrom } from "./record-reader.ts";
import { entriesOf, type TamperedRow } from "./rows.ts";
import { rowsQuery } from "./rows-query.ts";
import { readSeal, type Seal } from "./seal.ts";
import { columnsOf, currentFormat, type Source, sourceFacts } from "./sources.ts";

/** `unsealed`: after the last seal. `absent`: neither sealed nor in the database. The others: not as it was sealed. */
export type ProofHindrance = "absent" | "unsealed" | TamperedRow["kind"] | "list_changed";

export type Proven =
  | { readonly ok: true; readonly proof: Proof }
  | { readonly ok: false; readonly cause: ProofHindrance; readonly batch?: number };

/** Proves that one row is in its batch, or returns why it cannot. */
export async function proveRow(reader: RecordReader, source: Source, id: string): Promise<Proven> {
  const found = await findSeal(reader, source, id);
  const row = await readRow(reader, source, id, found?.seal.format ?? currentFormat);
  if (found === undefined) return { ok: false, cause: row === undefined ? "absent" : "unsealed" };
  const { seal, stored } = found;
  const { batch } = seal;
  const entries = entriesOf(seal, stored.entries);
  if (entries === undefined) return { ok: false, cause: "list_changed", batch };
  const index = entries.findIndex((entry) => entry.source === source && entry.id === id);
  const entry = entries[index];
  if (entry === undefined)
    return row === undefined ? { ok: false, cause: "absent" } : { ok: false, cause: "row_inserted", batch };
  if (row === undefined) return { ok: false, cause: "row_removed", batch };
  const leaf = leafOf(source, seal.format, row);
  if (leaf === undefined || Buffer.compare(leaf, entry.leaf) !== 0) return { ok: false, cause: "row_changed", batch };
  return { ok: true, proof: makeProof({ source, row, statement: stored.statement, entries, index }) };
}

async function readRow(reader: RecordReader, source: Source, id: string, format: number): Promise<Row | undefined> {
  const columns = columnsOf(format, source) ?? [sourceFacts[source].id];
  const range = { after: idBefore(id), through: id };
  const [row] = await reader.query(rowsQuery({ source, columns, range, limit: 1 }));
  return row;
}

/** The one whose range holds the identifier, by halving: ranges rise with the numbers. */
async function findSeal(reader: RecordReader, source: Source, id: string) {
  let low = 1;
  let high = (await readLastBatch(reader)) + 1;
  let found: Seal | undefined;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const at = await readableFrom(reader, middle);
    if (at === undefined || at.ranges[source].through >= id) {
      found = at ?? found;
      high = middle;
    } else low = at.batch + 1;
  }
  const stored = found && (await readSealFrom(reader, found.batch));
  return found && stored && { seal: found, stored };
}

/** The first seal of that number or a higher one; what is none is passed over. */
async function readableFrom(reader: RecordReader, from: number): Promise<Seal | undefined> {
  for (let batch = from; ; ) {
    const stored = await readStatementFrom(reader, batch);
    if (stored === undefined) return undefined;
    const seal = readSeal(stored.statement)?.seal;
    if (seal?.batch === stored.batch) return seal;
    batch = stored.batch + 1;
  }
}
