import type { Entry } from "../entries.ts";
import { type BatchFacts, readRange } from "../examine-batch.ts";
import { idOf, type Row } from "../leaf.ts";
import { merkleTree } from "../merkle.ts";
import { compareRows, type TamperedRow } from "../rows.ts";
import type { Range, Seal } from "../seal.ts";
import { sources } from "../sources.ts";
import type { EvidenceRow } from "./render.ts";

/** A batch as the database has it now. */
export interface SealedRows {
  /** In the order of the tree; undefined where it is not as it was sealed. */
  readonly rows: readonly (EvidenceRow | undefined)[];
  readonly tampered: readonly (TamperedRow & { readonly row: Row | undefined })[];
}

/** Between two pages other work of the process runs: hashing this many rows takes some milliseconds. */
const pageRows = 250;

/** Compares the rows in a seal's ranges with its entries, page by page. */
export async function readSealedRows(
  facts: Pick<BatchFacts, "reader" | "columns">,
  { batch, format, ranges }: Seal,
  entries: readonly Entry[],
): Promise<SealedRows> {
  const { paths } = merkleTree(entries.map(({ leaf }) => leaf));
  const rows: (EvidenceRow | undefined)[] = [];
  const tampered: SealedRows["tampered"][number][] = [];
  for (const source of sources) {
    const ofSource = entries.filter((entry) => entry.source === source);
    for (const { range, page } of pagesOf(ofSource, ranges[source])) {
      const read = await readRange(facts, source, range);
      const byId = new Map(read.map((row) => [idOf(source, row), row]));
      const found = compareRows({ format, source, entries: page, rows: read });
      tampered.push(...found.map((each) => ({ ...each, row: byId.get(each.id) })));
      const isAsSealed = notNamedIn(found);
      for (const { id } of page) {
        const index = rows.length;
        const row = isAsSealed(id) ? byId.get(id) : undefined;
        rows.push(row && { batch, index, path: paths[index] ?? [], source, leafFormat: format, row });
      }
    }
  }
  return { rows, tampered };
}

const notNamedIn = (found: readonly TamperedRow[]) => {
  const named = new Set(found.map(({ id }) => id));
  return (id: string): boolean => !named.has(id);
};

/** The pages of a source's range: their ranges leave no gap, so that a row between two entries is found. */
function* pagesOf(entries: readonly Entry[], { after, through }: Range): Generator<{ range: Range; page: Entry[] }> {
  let from = after;
  for (let start = 0; start < entries.length || start === 0; start += pageRows) {
    const page = entries.slice(start, start + pageRows);
    const isLast = start + pageRows >= entries.length;
    const to = isLast ? through : (page.at(-1)?.id ?? through);
    yield { range: { after: from, through: to }, page };
    from = to;
  }
}
