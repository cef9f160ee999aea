import { connect } from "./database.ts";

/** Any constant, the same in every process. */
const lockKey = 7_270_125_024;
const checkEveryMs = 5_000;

export class DatabaseTaken extends Error {
  readonly code = "database_taken";

  constructor() {
    super(
      "another process serves this database, and the in-process replay guard protects one process only: " +
        "set REDIS_URL for every process, or stop the other one",
    );
  }
}

/**
 * Holds an advisory lock, and takes it again after its connection broke. `exclusive`: the replay guard is in this process.
 * @param onLost another process acquired the lock meanwhile
 * @throws {DatabaseTaken}
 */
export async function claimDatabase(
  url: string,
  use: "exclusive" | "shared",
  onLost: (fault: DatabaseTaken) => void,
): Promise<{ close(): Promise<void> }> {
  const sql = connect({ url, maxConnections: 1, statementTimeoutMs: 2_000, isHeld: true });
  let holder: number | undefined;
  const claim = async (): Promise<void> => {
    const [connection] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    if (connection?.pid === holder) return;
    const lock = use === "exclusive" ? sql`pg_try_advisory_lock` : sql`pg_try_advisory_lock_shared`;
    const [claimed] = await sql<{ taken: boolean }[]>`select ${lock}(${lockKey}) as taken`;
    if (!claimed?.taken) throw new DatabaseTaken();
    holder = connection?.pid;
  };
  await claim().catch(async (error: unknown) => {
    await sql.end({ timeout: 1 });
    throw error;
  });
  const check = setInterval(() => {
    claim().catch((fault: unknown) => {
      // After an outage the next check claims again.
      if (fault instanceof DatabaseTaken) onLost(fault);
    });
  }, checkEveryMs).unref();
  return {
    close: async () => {
      clearInterval(check);
      await sql.end({ timeout: 1 });
    },
  };
}
