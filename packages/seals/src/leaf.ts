import { leafHash } from "./merkle.ts";
import { columnsOf, type Source, sourceFacts } from "./sources.ts";

/** A row as PostgreSQL writes each value as text, by `connectionSettings`: exact for every type, without any parser. */
export type Row = Readonly<Record<string, string | null>>;

/**
 * The leaf of a row: RFC 6962 over RFC 8785 canonical JSON of its source and the format's columns.
 * @returns undefined where the row lacks a column of the format, holds a value in one that the format does not cover, or text that
 * is no Unicode: no such row was ever sealed.
 */
export function leafOf(source: Source, format: number, row: Row): Uint8Array | undefined {
  const text = leafText(source, format, row);
  return text === undefined ? undefined : leafHash(text);
}

/** What {@link leafOf} hashes. */
export function leafText(source: Source, format: number, row: Row): string | undefined {
  const columns = columnsInOrder(source, format);
  if (columns === undefined) return undefined;
  const values: Record<string, string | null> = {};
  for (const column of columns) {
    const value = row[column];
    // Canonical JSON has no words for half a character, and no database holds one; a proof's file may.
    if (value === undefined || value?.isWellFormed() === false) return undefined;
    values[column] = value;
  }
  if (holdsMore(row, columns)) return undefined;
  // Members in order, and nothing but texts and nulls: JSON.stringify writes what RFC 8785 requires, at a fifth of the
  // cost of the library, which the tests hold it to.
  return JSON.stringify({ format, row: values, source });
}

const inOrder = new Map<string, readonly string[]>();

/** By UTF-16 code units (RFC 8785 section 3.2.3). */
function columnsInOrder(source: Source, format: number): readonly string[] | undefined {
  const name = `${source} ${format}`;
  const known = inOrder.get(name) ?? columnsOf(format, source)?.toSorted();
  if (known !== undefined) inOrder.set(name, known);
  return known;
}

function holdsMore(row: Row, columns: readonly string[]): boolean {
  const names = Object.keys(row);
  return names.length > columns.length && names.some((name) => row[name] !== null && !columns.includes(name));
}

/** The identifier under which a row is sealed; undefined where it has none. */
export const idOf = (source: Source, row: Row): string | undefined => row[sourceFacts[source].id] ?? undefined;
