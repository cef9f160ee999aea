import { onConnection } from "./database.ts";

/** One for the claim on the database, one for probes, and two for each pool. */
export const fewestConnections = 10;

/** Shares out `SVC_DATABASE_CONNECTIONS`, so that audit reads, submissions and probes never delay a commit. */
export function poolSizesOf(connections: number) {
  const shared = connections - 2;
  const rare = Math.max(2, Math.floor(shared / 6));
  const reader = Math.floor((shared - 2 * rare) / 2);
  return { writer: shared - 2 * rare - reader, reader, audit: rare, submissions: rare, health: 1 };
}

/** At the start, since connections open under load. @throws if the server admits fewer than the processes may open. */
export async function requireRoom(
  url: string,
  { processes, connections }: { readonly processes: number; readonly connections: number },
): Promise<void> {
  // -1: no limit. `reserved_connections` came with PostgreSQL 16.
  const [row] = await onConnection(
    url,
    5_000,
    (sql) => sql<{ admitted: number }[]>`
      select least(
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
          - coalesce(current_setting('reserved_connections', true)::int, 0),
        nullif((select rolconnlimit from pg_roles where rolname = session_user), -1),
        nullif((select datconnlimit from pg_database where datname = current_database()), -1)) as admitted`,
  );
  const needed = processes * connections;
  if (row === undefined || row.admitted >= needed) return;
  throw new Error(
    `the database admits ${row.admitted} connections, and ${needed} may be needed (SVC_WORKERS ${processes} times ` +
      `SVC_DATABASE_CONNECTIONS ${connections}): lower these, or raise max_connections or the role's limit`,
  );
}
