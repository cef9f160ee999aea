import { encodeBase64url } from "@svc/tokens";
import { monthOfId } from "./entries.ts";
import type { Finding } from "./finding.ts";
import { idOf, leafOf, type Row } from "./leaf.ts";
import { merkleRoot } from "./merkle.ts";
import type { RecordReader, SealRow } from "./record-reader.ts";
import { compareRows, entriesOf, type TamperedRow } from "./rows.ts";
import { rowsQuery } from "./rows-query.ts";
import type { Range, Seal } from "./seal.ts";
import { type Source, sourceFacts, sources } from "./sources.ts";

export interface BatchFacts {
  readonly reader: RecordReader;
  /** Of each table, all of them. */
  readonly columns: ReadonlyMap<string, readonly string[]>;
  /** Months whose rows may be missing, `YYYY-MM`. */
  readonly retired: ReadonlySet<string>;
}

export interface BatchExamined {
  readonly findings: readonly Finding[];
  /** Rows as they were sealed. */
  readonly intact: number;
  /** Rows past retention. */
  readonly retired: number;
}

/** Compares the rows in a seal's ranges with what was sealed there. */
export async function examineBatch(facts: BatchFacts, seal: Seal, stored: SealRow): Promise<BatchExamined> {
  const entries = entriesOf(seal, stored.entries);
  if (entries === undefined) return withoutList(facts, seal);
  const tampered: TamperedRow[] = [];
  let retired = 0;
  for (const source of sources) {
    const rows = await readRange(facts, source, seal.ranges[source]);
    const sealed = entries.filter((entry) => entry.source === source);
    for (const each of compareRows({ format: seal.format, source, entries: sealed, rows })) {
      if (isRetired(facts, each)) retired++;
      else tampered.push(each);
    }
  }
  const missing = tampered.filter(({ kind }) => kind !== "row_inserted").length;
  const findings = tampered.map((each) => ({ ...each, batch: seal.batch }));
  return { findings, intact: entries.length - missing - retired, retired };
}

const isRetired = ({ retired }: BatchFacts, { kind, source, id }: TamperedRow): boolean =>
  kind === "row_removed" && sourceFacts[source].retires && retired.has(monthOfId(id));

/** The list is not the one that was sealed, yet the rows themselves may still lead to the root. */
async function withoutList(facts: BatchFacts, seal: Seal): Promise<BatchExamined> {
  const leaves: Uint8Array[] = [];
  for (const source of sources) {
    for (const row of await readRange(facts, source, seal.ranges[source])) {
      leaves.push(leafOf(source, seal.format, row) ?? new Uint8Array());
    }
  }
  const isWhole = encodeBase64url(merkleRoot(leaves)) === seal.root;
  const { batch } = seal;
  const changed = isWhole ? [] : [{ kind: "batch_changed" as const, batch }];
  return { findings: [{ kind: "list_changed", batch }, ...changed], intact: isWhole ? leaves.length : 0, retired: 0 };
}

const rowsAtOnce = 2_000;

/** All rows of a source in a range. */
export async function readRange(
  { reader, columns }: Pick<BatchFacts, "reader" | "columns">,
  source: Source,
  range: Range,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const all = columns.get(sourceFacts[source].table) ?? [];
  let after = range.after;
  for (;;) {
    const selection = { source, columns: all, range: { after, through: range.through }, limit: rowsAtOnce };
    const page = await reader.query(rowsQuery(selection));
    rows.push(...page);
    const last = page.at(-1);
    if (page.length < rowsAtOnce || last === undefined) return rows;
    after = idOf(source, last) ?? after;
  }
}
