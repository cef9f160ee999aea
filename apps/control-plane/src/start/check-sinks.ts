import type { Sql } from "../postgres/database.ts";

/** Sinks that do not take rows, and why; none in a schema of a release before. */
export async function failingSinks(sql: Sql): Promise<readonly { readonly sink: string; readonly fault: string }[]> {
  const [table] = await sql`select from pg_catalog.pg_class where oid = to_regclass('public.sink')`;
  if (table === undefined) return [];
  return sql<{ sink: string; fault: string }[]>`
    select name as sink, last_error as fault from public.sink where failures > 0 order by name`;
}
