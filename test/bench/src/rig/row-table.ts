import { randomUUID } from "node:crypto";
import postgres, { type Sql } from "postgres";

/** The smallest record: a key, agent and target, and a time. */
export const rowTable = `
  create table bench_row (action_id uuid primary key, session_id uuid not null, acting_agent text not null, target text not null,
    data_class text not null, decision text not null, decided_at timestamptz not null)`;

/** For pgbench, which generates values in the database and reads `:word` as a variable. */
export const insertScript =
  "insert into bench_row values (gen_random_uuid(), gen_random_uuid(), 'bench-agent-1', 'http-bench/read', 'bench', 'allow', now());\n";

export async function createRowTable(url: string): Promise<void> {
  const sql = postgres(url, { max: 1 });
  try {
    await sql.unsafe(rowTable);
  } finally {
    await sql.end();
  }
}

export const insertRow = (sql: Sql): Promise<unknown> => sql`
  insert into bench_row
  values (${randomUUID()}, ${randomUUID()}, 'bench-agent-1', 'http:bench/read', 'bench', 'allow', ${new Date()})`;

/** The part that differs between rows. */
export interface Row {
  readonly action_id: string;
  readonly session_id: string;
  readonly decided_at: Date;
}

export const newRow = (): Row => ({ action_id: randomUUID(), session_id: randomUUID(), decided_at: new Date() });

/** In one statement, as rows of the table: JSON costs the server a tenth more. */
export const insertRows = (sql: Sql, rows: readonly Row[]): Promise<unknown> => sql`
  insert into bench_row select * from unnest(${`{${rows.map(toElement).join(",")}}`}::text::bench_row[])`;

/** No value needs escaping. */
const toElement = ({ action_id, session_id, decided_at }: Row): string =>
  `"(${action_id},${session_id},bench-agent-1,http:bench/read,bench,allow,${decided_at.toISOString()})"`;
