import { readFileSync } from "node:fs";
import { createDatabase, type OwnRedis, startOwnRedis, type TestDatabase } from "@svc/test-support";
import postgres from "postgres";
import { readProcesses } from "../machine/proc.ts";

/** The stores that all subjects of a run share, so that they commit to the same disk. */
export interface Stores {
  readonly redis: OwnRedis;
  readonly redisPid: number;
  /** The server's first process; the others are its descendants. */
  readonly postgresPid: number;
  database(): Promise<TestDatabase>;
  stop(): Promise<void>;
}

export async function startStores(): Promise<Stores> {
  const databases: TestDatabase[] = [];
  const database = async () => {
    const made = await createDatabase();
    databases.push(made);
    return made;
  };
  const redis = await startOwnRedis();
  const first = await database();
  return {
    redis,
    redisPid: Number(/process_id:(\d+)/.exec(String(await redis.command("INFO", "server")))?.[1]),
    postgresPid: await postmasterOf(first.superuserUrl),
    database,
    async stop() {
      for (const one of databases) await one.drop();
      await redis.stop();
    },
  };
}

/** Zero where the server runs elsewhere, so that its work cannot be counted. */
async function postmasterOf(url: string): Promise<number> {
  const sql = postgres(url, { max: 1 });
  try {
    const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    const backend = readProcesses().find(({ pid }) => pid === row?.pid);
    return backend !== undefined && /postgres/.test(commandOf(backend.pid)) ? backend.parent : 0;
  } finally {
    await sql.end();
  }
}

const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, "utf8");
