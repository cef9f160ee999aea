import { connect } from "./database.ts";

/** Any constant, the same in every process. */
const lockKey = 7_270_125_024;
const checkEveryMs = 5_000;

/** `sole`: this process's guard is its own, so no other process may spend on the database. `shared`: one common store. */
export type Tenancy = "sole" | "shared";

export class DatabaseTaken extends Error {
  readonly code = "database_taken";

  constructor() {
    super(
      "another process serves this database, and the in-process replay guard protects one process only: " +
        "set REDIS_URL for every process, or stop the other one",
    );
  }
}

export interface TenancyClaim {
  close(): Promise<void>;
}

/**
 * Holds the database for this process alone, or for all that share a guard, by an advisory lock of a connection of its
 * own. After the connection broke the claim is made again; `onTaken` tells that somebody else was faster.
 * @throws {DatabaseTaken}
 */
export async function claimDatabase(
  url: string,
  tenancy: Tenancy,
  onTaken: (fault: DatabaseTaken) => void,
): Promise<TenancyClaim> {
  const sql = connect({ url, maxConnections: 1, statementTimeoutMs: 2_000, isHeld: true });
  let holder: number | undefined;
  const claim = async (): Promise<void> => {
    const [connection] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    if (connection?.pid === holder) return;
    const [lock] =
      tenancy === "sole"
        ? await sql<{ taken: boolean }[]>`select pg_try_advisory_lock(${lockKey}) as taken`
        : await sql<{ taken: boolean }[]>`select pg_try_advisory_lock_shared(${lockKey}) as taken`;
    if (!lock?.taken) throw new DatabaseTaken();
    holder = connection?.pid;
  };
  try {
    await claim();
  } catch (error) {
    await sql.end({ timeout: 1 });
    throw error;
  }
  const check = setInterval(() => {
    claim().catch((fault: unknown) => {
      // An outage is not a conflict: the next check claims again.
      if (fault instanceof DatabaseTaken) onTaken(fault);
    });
  }, checkEveryMs).unref();
  return {
    close: async () => {
      clearInterval(check);
      await sql.end({ timeout: 1 });
    },
  };
}
