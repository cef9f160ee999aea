import { z } from "zod";
import type { StoredSeal } from "./chain.ts";
import type { Row } from "./leaf.ts";
import type { Query } from "./rows-query.ts";
import { sourceFacts, sources } from "./sources.ts";

/** The database under examination, its settings those of `connectionSettings`. */
export interface RecordReader {
  /** Returns each value as text. */
  query(query: Query): Promise<readonly Row[]>;
}

/** Every column of each sealed table, by the database's own catalog: also those that no format covers. */
export async function readColumns(reader: RecordReader): Promise<ReadonlyMap<string, readonly string[]>> {
  const tables = [...new Set(sources.map((source) => sourceFacts[source].table))];
  const rows = await reader.query({
    text: `select c.relname::text as "table", a.attname::text as "column"
      from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'public'::regnamespace and c.relname = any (string_to_array($1, ','))
        and a.attnum > 0 and not a.attisdropped
      order by a.attnum`,
    values: [tables.join(",")],
  });
  const columns = new Map<string, string[]>(tables.map((table) => [table, []]));
  for (const { table, column } of rows) columns.get(table ?? "")?.push(column ?? "");
  return columns;
}

const sealRow = z.object({
  // A forged one may be larger than an integer can be.
  batch: z.coerce.number(),
  statement: z.string(),
  entries: z.base64().transform((text): Uint8Array => Buffer.from(text, "base64")),
});
export type SealRow = Readonly<z.output<typeof sealRow>>;

const sealsAtOnce = 20;

/** Every seal, in the order of their numbers; also those written while it reads. */
export async function* readSeals(reader: RecordReader): AsyncGenerator<SealRow> {
  let last = "0";
  for (;;) {
    const rows = await reader.query({ text: `${sealColumns} where s.batch > $1::bigint ${inOrder}`, values: [last] });
    for (const row of rows) yield sealRow.parse(row);
    if (rows.length < sealsAtOnce) return;
    last = rows.at(-1)?.batch ?? last;
  }
}

const statementsAtOnce = 500;

/** Every row of the chain without its list, in the order of their numbers. */
export async function* readStatements(reader: RecordReader): AsyncGenerator<StoredSeal> {
  let last = "0";
  for (;;) {
    const text = `select s.batch::text as batch, s.statement from public.seal s where s.batch > $1::bigint
      order by s.batch limit ${statementsAtOnce}`;
    const rows = await reader.query({ text, values: [last] });
    for (const { batch, statement } of rows) yield { batch: Number(batch), statement: statement ?? "" };
    if (rows.length < statementsAtOnce) return;
    last = rows.at(-1)?.batch ?? last;
  }
}

/** The first seal of that number or a higher one; undefined where there is none. */
export async function readSealFrom(reader: RecordReader, batch: number): Promise<SealRow | undefined> {
  const text = `${sealColumns} where s.batch >= $1::bigint order by s.batch limit 1`;
  const [row] = await reader.query({ text, values: [String(batch)] });
  return row && sealRow.parse(row);
}

/** The same without its list. */
export async function readStatementFrom(reader: RecordReader, batch: number): Promise<StoredSeal | undefined> {
  const text = `select s.batch::text as batch, s.statement from public.seal s where s.batch >= $1::bigint
    order by s.batch limit 1`;
  const [row] = await reader.query({ text, values: [String(batch)] });
  return row && { batch: Number(row.batch), statement: row.statement ?? "" };
}

export async function readLastBatch(reader: RecordReader): Promise<number> {
  const [row] = await reader.query({
    text: "select coalesce(max(batch), 0)::text as batch from public.seal",
    values: [],
  });
  return Number(row?.batch ?? 0);
}

const sealColumns = `select s.batch::text as batch, s.statement, translate(encode(s.entries, 'base64'), E'\\n', '') as entries
  from public.seal s`;
const inOrder = `order by s.batch limit ${sealsAtOnce}`;
