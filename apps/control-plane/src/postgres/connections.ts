import { connect } from "./database.ts";

/** Connections of one process, by what they are for. */
export interface PoolSizes {
  readonly writer: number;
  readonly reader: number;
  readonly audit: number;
  readonly submissions: number;
  readonly health: number;
}

/** One holds the claim on the database, one answers probes, and each pool has two, so that no call waits for one other. */
export const fewestConnections = 10;

/**
 * Shares out the connections that a process may open (`SVC_DATABASE_CONNECTIONS`), one of which holds its claim on the
 * database. Commits of concurrent hops go together and reads share connections, so few serve many; the pools are apart
 * so that no audit query, submission or probe stands before a commit.
 */
export function poolSizesOf(connections: number): PoolSizes {
  const shared = connections - 2;
  const rare = Math.max(2, Math.floor(shared / 6));
  const reader = Math.floor((shared - 2 * rare) / 2);
  return { writer: shared - 2 * rare - reader, reader, audit: rare, submissions: rare, health: 1 };
}

export interface Demand {
  readonly processes: number;
  readonly connections: number;
}

/**
 * Connections are opened as they are needed, so a server that cannot hold them would refuse the first calls of a busy
 * hour. What other deployments and people take of it is not known here.
 * @throws where the server admits fewer than the processes of this start may open.
 */
export async function requireRoom(url: string, { processes, connections }: Demand): Promise<void> {
  const sql = connect({ url, maxConnections: 1, statementTimeoutMs: 5_000 });
  try {
    // The lowest limit holds; -1 stands for none. `reserved_connections` came with PostgreSQL 16.
    const [row] = await sql<{ admitted: number }[]>`
      select least(
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
          - coalesce(current_setting('reserved_connections', true)::int, 0),
        nullif((select rolconnlimit from pg_roles where rolname = session_user), -1),
        nullif((select datconnlimit from pg_database where datname = current_database()), -1)) as admitted`;
    const needed = processes * connections;
    if (row === undefined || row.admitted >= needed) return;
    throw new Error(
      `the database admits ${row.admitted} connections, and ${needed} may be needed (SVC_WORKERS ${processes} times ` +
        `SVC_DATABASE_CONNECTIONS ${connections}): lower these, or raise max_connections or the role's limit`,
    );
  } finally {
    await sql.end({ timeout: 5 });
  }
}
