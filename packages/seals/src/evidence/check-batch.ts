import { decodeEntries, type Entry, monthOfId } from "../entries.ts";
import { idOf, leafOf } from "../leaf.ts";
import { merkleTree, rootOfPath } from "../merkle.ts";
import { type Source, sourceFacts, sources } from "../sources.ts";
import type { EvidenceFormat } from "./event.ts";
import type { EvidenceFinding } from "./evidence-finding.ts";
import { type EvidenceRow, parsedObject, renderRow } from "./render.ts";
import { hashText, type Statement } from "./statement.ts";

/** The sealed rows of a batch, and how each proves that it is one. */
export interface SealedList {
  readonly entries: readonly Entry[];
  readonly paths: readonly (readonly string[])[];
  /** By {@link rowName}. */
  readonly indexes: ReadonlyMap<string, number>;
}

export const rowName = (source: Source, id: string | undefined): string => `${source} ${id}`;

/** The line of a list. */
export const listLine = (batch: number, list: string): string => JSON.stringify({ batch, entries: list });

/** The list in a line; undefined where it is not the one that was sealed. */
export function readList(seal: Statement, line: string | undefined): SealedList | undefined {
  const { entries: list } = parsedObject(line ?? "") ?? {};
  if (typeof list !== "string" || listLine(seal.batch, list) !== line) return undefined;
  const bytes = Buffer.from(list, "base64url");
  if (bytes.toString("base64url") !== list || hashText(bytes) !== seal.entriesHash) return undefined;
  const entries = decodeEntries(bytes, seal.counts);
  if (entries === undefined) return undefined;
  const { root, paths } = merkleTree(entries.map(({ leaf }) => leaf));
  const indexes = new Map(entries.map(({ source, id }, index) => [rowName(source, id), index]));
  return root === seal.root ? { entries, paths, indexes } : undefined;
}

export interface BatchLine {
  readonly number: number;
  readonly text: string | undefined;
  readonly evidence: EvidenceRow | undefined;
}

export interface BatchCheck {
  /** Whether the line is of this batch. */
  owns(line: BatchLine): boolean;
  add(line: BatchLine): void;
  /** Whether every place has a line. */
  isFull(): boolean;
  /** What is not as it was sealed, and how many rows are. */
  end(): { readonly findings: readonly EvidenceFinding[]; readonly rows: number; readonly retired: number };
}

export interface BatchCheckSettings {
  readonly format: EvidenceFormat;
  readonly seal: Statement;
  readonly list: SealedList | undefined;
  /** Months whose rows may be missing, `YYYY-MM`. */
  readonly retired: ReadonlySet<string>;
}

/** Compares the lines of a batch with its seal. */
export function batchCheck({ format, seal, list, retired }: BatchCheckSettings): BatchCheck {
  const { batch } = seal;
  const size = sources.reduce((sum, source) => sum + seal.counts[source], 0);
  const findings: EvidenceFinding[] = [];
  /** Line number of each place. */
  const placed = new Map<number, number>();
  const foreign: BatchLine[] = [];
  const changed = new Set<number>();

  const indexOf = ({ evidence }: BatchLine): number | undefined => {
    if (evidence === undefined) return undefined;
    if (list !== undefined) return list.indexes.get(rowName(evidence.source, idOf(evidence.source, evidence.row)));
    return evidence.batch === batch && evidence.index >= 0 && evidence.index < size ? evidence.index : undefined;
  };
  const isAsSealed = ({ text, evidence }: BatchLine, index: number): boolean => {
    if (evidence === undefined) return false;
    const leaf = leafOf(evidence.source, seal.format, evidence.row);
    if (leaf === undefined) return false;
    const path = list === undefined ? evidence.path : (list.paths[index] ?? []);
    const { source, row } = evidence;
    if (renderRow(format, { batch, index, path, source, leafFormat: seal.format, row }) !== text) return false;
    const sealed = list?.entries[index]?.leaf;
    if (sealed !== undefined) return Buffer.compare(leaf, sealed) === 0;
    const siblings = path.map((hash) => Buffer.from(hash, "base64url"));
    const root = rootOfPath(leaf, siblings, { index, size });
    return root !== undefined && Buffer.from(root).toString("base64url") === seal.root;
  };

  const missing = (): readonly number[] =>
    Array.from({ length: size }, (_, index) => index).filter((index) => !placed.has(index));
  const named = (index: number) => {
    const entry = list?.entries[index];
    return { batch, index, source: entry?.source ?? sourceAt(seal, index), ...(entry && { id: entry.id }) };
  };
  const isExcused = (index: number): boolean => {
    const entry = list?.entries[index];
    return entry !== undefined && sourceFacts[entry.source].retires && retired.has(monthOfId(entry.id));
  };
  /** A line whose identifier was changed is a changed row where its place is free. */
  const settleForeign = (): void => {
    for (const line of foreign) {
      const { number, evidence } = line;
      const claimed = evidence?.batch === batch ? evidence.index : undefined;
      const free = evidence === undefined ? missing().find((index) => !isExcused(index)) : claimed;
      if (free !== undefined && free >= 0 && free < size && !placed.has(free)) {
        placed.set(free, number);
        changed.add(free);
        findings.push({ kind: "row_changed", ...named(free), line: number });
      } else findings.push({ kind: "row_inserted", batch, ...nameOf(evidence), line: number });
    }
  };

  return {
    owns: (line) => indexOf(line) !== undefined,
    add(line) {
      const index = indexOf(line);
      if (index === undefined) foreign.push(line);
      else if (placed.has(index)) findings.push({ kind: "row_repeated", ...named(index), line: line.number });
      else {
        placed.set(index, line.number);
        if (!isAsSealed(line, index)) {
          changed.add(index);
          findings.push({ kind: "row_changed", ...named(index), line: line.number });
        } else if (isExcused(index)) {
          findings.push({ kind: "retirement_partial", ...named(index), month: monthOfId(named(index).id ?? "") });
        }
      }
    },
    isFull: () => placed.size === size,
    end() {
      const order = [...placed.keys()];
      for (const index of outOfOrder(order)) {
        findings.push({ kind: "row_reordered", ...named(index), line: placed.get(index) ?? 0 });
      }
      settleForeign();
      const absent = missing();
      const removed = absent.filter((index) => !isExcused(index));
      for (const index of removed) findings.push({ kind: "row_removed", ...named(index) });
      return { findings, rows: placed.size - changed.size, retired: absent.length - removed.length };
    },
  };
}

const nameOf = (evidence: EvidenceRow | undefined) => {
  const id = evidence && idOf(evidence.source, evidence.row);
  return evidence === undefined ? {} : { source: evidence.source, ...(id !== undefined && { id }) };
};

/** A batch has its rows source by source. */
function sourceAt({ counts }: Statement, index: number): Source {
  let end = 0;
  for (const source of sources) {
    end += counts[source];
    if (index < end) return source;
  }
  return "event";
}

/** The fewest numbers without which the others rise: those outside a longest rising run (patience sorting). */
function outOfOrder(order: readonly number[]): readonly number[] {
  if (order.every((each, at) => at === 0 || each > (order[at - 1] ?? -1))) return [];
  /** For each length, the place that ends the run with the lowest number. */
  const ends: number[] = [];
  const before: (number | undefined)[] = [];
  for (const [at, each] of order.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((order[ends[middle] ?? 0] ?? 0) < each) low = middle + 1;
      else high = middle;
    }
    before[at] = ends[low - 1];
    ends[low] = at;
  }
  const kept = new Set<number>();
  for (let at = ends.at(-1); at !== undefined; at = before[at]) kept.add(at);
  return order.filter((_, at) => !kept.has(at));
}
