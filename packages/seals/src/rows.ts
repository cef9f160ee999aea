import { encodeBase64url, sha256Base64url } from "@svc/tokens";
import { decodeEntries, type Entry } from "./entries.ts";
import { idOf, leafOf, type Row } from "./leaf.ts";
import { merkleRoot } from "./merkle.ts";
import type { Seal } from "./seal.ts";
import type { Source } from "./sources.ts";

/** The sealed rows; undefined where the list beside the seal is not the one that was sealed. */
export function entriesOf(seal: Seal, list: Uint8Array): readonly Entry[] | undefined {
  if (sha256Base64url(list) !== seal.entriesHash) return undefined;
  const entries = decodeEntries(list, seal.counts);
  if (entries === undefined || encodeBase64url(merkleRoot(entries.map(({ leaf }) => leaf))) !== seal.root) {
    return undefined;
  }
  return entries;
}

export interface TamperedRow {
  readonly kind: "row_changed" | "row_removed" | "row_inserted";
  readonly source: Source;
  readonly id: string;
}

export interface Comparison {
  readonly format: number;
  readonly source: Source;
  /** Those of the source alone. */
  readonly entries: readonly Entry[];
  /** Every row in the seal's range of the source. */
  readonly rows: readonly Row[];
}

/** What is not as it was sealed, row by row. */
export function compareRows({ format, source, entries, rows }: Comparison): readonly TamperedRow[] {
  const sealed = new Map(entries.map(({ id, leaf }) => [id, leaf]));
  const tampered: TamperedRow[] = [];
  for (const row of rows) {
    const id = idOf(source, row) ?? "";
    const leaf = sealed.get(id);
    if (leaf === undefined) tampered.push({ kind: "row_inserted", source, id });
    else if (!isSame(leaf, leafOf(source, format, row))) tampered.push({ kind: "row_changed", source, id });
    // A second row of the same identifier was not sealed.
    sealed.delete(id);
  }
  return [...tampered, ...Array.from(sealed.keys(), (id) => ({ kind: "row_removed" as const, source, id }))];
}

const isSame = (a: Uint8Array, b: Uint8Array | undefined): boolean => b !== undefined && Buffer.compare(a, b) === 0;
