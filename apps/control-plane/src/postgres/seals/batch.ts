import {
  columnsOf,
  connectionSettings,
  currentFormat,
  type Entry,
  idOf,
  leafOf,
  type Range,
  type Row,
  rowsQuery,
  type Seal,
  type Source,
  signSeal,
  sources,
} from "@svc/seals";
import type { SigningKey } from "@svc/tokens";
import type { Authenticity } from "../authenticity.ts";
import type { Sql, Transaction } from "../database.ts";
import { firstIdAt } from "../time-ordered-ids.ts";
import type { ProvenHead } from "./head.ts";

export interface BatchLimits {
  /** For each source: all rows with earlier identifiers are visible. */
  readonly settledMs: Readonly<Record<Source, number>>;
  readonly maxRows: number;
}

/** For the rest of the transaction: PostgreSQL formats the values of rows as leaves need them. */
export async function readAsSealed(tx: Transaction): Promise<void> {
  for (const [name, value] of Object.entries(connectionSettings)) await tx`select set_config(${name}, ${value}, true)`;
}

/** The next rows' seal. */
interface NextBatch extends BatchLimits, ProvenHead {
  readonly key: SigningKey;
  readonly authenticity: Authenticity;
}

/**
 * Seals the next rows. `done`: they were the last ones. After unproven rows it makes a seal even without rows, so that the
 * newest row is a seal again.
 */
export async function sealNextBatch(
  tx: Transaction,
  { key, authenticity, head, unproven, ...limits }: NextBatch,
): Promise<"more" | "done"> {
  await readAsSealed(tx);
  const { ranges, entries } = await gather(tx, head?.seal, limits);
  const batch = nextNumber(head?.batch ?? 0, unproven);
  if (entries.length === 0 && !unproven.some((number) => number < batch)) return "done";
  const sealed = await signSeal({
    key,
    batch,
    previous: head?.statement ?? null,
    sealedAtMs: await databaseNow(tx),
    ranges,
    entries,
    isNewKey: head?.header.kid !== key.kid,
  });
  await tx`
    insert into seal (batch, statement, entries, mac)
    values (${batch}, ${sealed.statement}, ${Buffer.from(sealed.entries)},
      ${authenticity.mac(["seal", sealed.statement])})`;
  return entries.length === limits.maxRows ? "more" : "done";
}

/** After every row that can be followed, else the first free number. */
function nextNumber(head: number, unproven: readonly number[]): number {
  const taken = unproven.filter((number) => number < Number.MAX_SAFE_INTEGER);
  return Math.max(head, ...taken) + 1;
}

/** Below every identifier. */
const lowestId = firstIdAt(0);

/** Reads one source after the other until the batch is full. The next batch continues there. */
async function gather(tx: Transaction, last: Seal | undefined, { settledMs, maxRows }: BatchLimits) {
  const entries: Entry[] = [];
  const ranges: Partial<Record<Source, Range>> = {};
  for (const source of sources) {
    const after = last?.ranges[source].through ?? null;
    const settled = firstIdAt(settledMs[source]);
    const room = maxRows - entries.length;
    const read = room === 0 || settled <= (after ?? "") ? [] : await readLeaves(tx, source, after, settled, room);
    entries.push(...read);
    const isWhole = read.length < room && settled > (after ?? "");
    ranges[source] = { after, through: isWhole ? settled : (read.at(-1)?.id ?? after ?? lowestId) };
  }
  return { entries, ranges: ranges as Readonly<Record<Source, Range>> };
}

/** Hashing them blocks the event loop for some milliseconds. */
const pageRows = 200;

async function readLeaves(tx: Transaction, source: Source, from: string | null, through: string, room: number) {
  const columns = columnsOf(currentFormat, source) ?? [];
  const entries: Entry[] = [];
  let after = from;
  for (;;) {
    const limit = Math.min(pageRows, room - entries.length);
    const { text, values } = rowsQuery({ source, columns, range: { after, through }, limit });
    const rows = await tx.unsafe<Row[]>(text, values, { prepare: true });
    for (const row of rows) entries.push(toEntry(source, row));
    after = entries.at(-1)?.id ?? after;
    if (rows.length < limit || entries.length === room) return entries;
  }
}

function toEntry(source: Source, row: Row): Entry {
  const id = idOf(source, row);
  const leaf = leafOf(source, currentFormat, row);
  if (id === undefined || leaf === undefined) throw new Error(`a row of ${source} lacks a column of its leaf`);
  return { source, id, leaf };
}

export async function databaseNow(sql: Sql | Transaction): Promise<number> {
  const [row] = await sql<{ at: number }[]>`select now() as at`;
  if (row === undefined) throw new Error("the database returned no time");
  return row.at;
}
