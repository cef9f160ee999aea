import type { Range } from "./seal.ts";
import { type Source, sourceFacts } from "./sources.ts";

/**
 * Settings of the connection that reads rows. The first ones fix how PostgreSQL writes values as text. The last ones make
 * it walk the index: its statistics lag behind a growing table, and it would sort the whole rest for each page.
 */
export const connectionSettings = {
  TimeZone: "UTC",
  DateStyle: "ISO, YMD",
  IntervalStyle: "postgres",
  bytea_output: "hex",
  extra_float_digits: "1",
  enable_sort: "off",
  enable_bitmapscan: "off",
  enable_seqscan: "off",
} as const;

export interface Query {
  readonly text: string;
  readonly values: string[];
}

export interface RowSelection {
  readonly source: Source;
  /** Those to read; the columns of a format, or all that the table has. */
  readonly columns: readonly string[];
  /** Through null: to the end. */
  readonly range: Pick<Range, "after"> & { readonly through: string | null };
  readonly limit: number;
}

/** Reads a source's rows of a range in the order of their identifiers, each column as text. */
export function rowsQuery({ source, columns, range, limit }: RowSelection): Query {
  const { table, id } = sourceFacts[source];
  const { where, values } = within(source, range);
  const read = columns.map((column) => `${quoted(column)}::text as ${quoted(column)}`).join(", ");
  // By the column itself: a bare name would be the selected text, and no index has that order.
  const text = `select ${read} from public.${quoted(table)} r where ${where} order by r.${quoted(id)} limit ${limit}`;
  return { text, values };
}

/** Counts the rows above an identifier, as `rows`. */
export function countQuery(source: Source, after: string | null): Query {
  const { where, values } = within(source, { after, through: null });
  return {
    text: `select count(*)::text as rows from public.${quoted(sourceFacts[source].table)} where ${where}`,
    values,
  };
}

function within(source: Source, { after, through }: RowSelection["range"]): { where: string; values: string[] } {
  const { id, only } = sourceFacts[source];
  const values: string[] = [];
  const bound = (operator: string, value: string): string => `${quoted(id)} ${operator} $${values.push(value)}::uuid`;
  const conditions = [
    // The literal is what a partial index is found by.
    ...(only === undefined ? [] : [`${quoted(only[0])} = '${only[1]}'`]),
    ...(after === null ? [] : [bound(">", after)]),
    ...(through === null ? [] : [bound("<=", through)]),
  ];
  return { where: conditions.length === 0 ? "true" : conditions.join(" and "), values };
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
