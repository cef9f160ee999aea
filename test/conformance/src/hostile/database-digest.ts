import type postgres from "postgres";

/** A row count and a checksum of every table, by its name. */
export type DatabaseDigest = Readonly<Record<string, string>>;

/** Reads all tables but `others` in one snapshot, at every call. */
export async function databaseDigests(
  sql: postgres.Sql,
  others: readonly string[],
): Promise<() => Promise<DatabaseDigest>> {
  const tables = await sql<{ name: string }[]>`
    select relname::text as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`;
  const text = tables
    .filter(({ name }) => !others.includes(name))
    .map(({ name }) => `select '${name}' as name, ${checksum} as digest from ${name} t`)
    .join(" union all ");
  return async () => {
    const rows = await sql.unsafe<{ name: string; digest: string }[]>(text);
    return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]));
  };
}

const checksum = "count(*) || ' rows, ' || coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)";

export const changedTables = (before: DatabaseDigest, after: DatabaseDigest): readonly string[] =>
  Object.keys(after).filter((name) => before[name] !== after[name]);
