import {
  type ControlPlane,
  createMigratedDatabase,
  startControlPlane,
  startOwnRedis,
  type TestDatabase,
  testBearers,
} from "@svc/test-support";
import postgres from "postgres";
import { type Api, createApi } from "./api.ts";

export interface One {
  readonly api: Api;
  readonly controlPlane: ControlPlane;
  readonly database: TestDatabase;
  stop(): Promise<void>;
}

/** One control plane on its own database, with the in-process guard. */
export async function startOne(env: Readonly<Record<string, string>> = {}): Promise<One> {
  const database = await createMigratedDatabase();
  const controlPlane = await startControlPlane({ database }, env);
  return {
    api: createApi(controlPlane.url, testBearers),
    controlPlane,
    database,
    stop: async () => {
      await controlPlane.stop();
      await database.drop();
    },
  };
}

export interface Pair {
  readonly one: Api;
  readonly other: Api;
  readonly database: TestDatabase;
  stop(): Promise<void>;
}

/** Two processes of one issuer: the same database, the same Redis. */
export async function startPair(settings: Readonly<Record<string, string>> = {}): Promise<Pair> {
  const [database, redis] = await Promise.all([createMigratedDatabase(), startOwnRedis()]);
  const env = { SVC_ISSUER: "https://issuer.test", ...settings };
  const one = await startControlPlane({ database, redis }, env);
  const other = await startControlPlane({ database, redis }, env);
  return {
    one: createApi(one.url, testBearers),
    other: createApi(other.url, testBearers),
    database,
    stop: async () => {
      await Promise.all([one.stop(), other.stop()]);
      await Promise.all([redis.stop(), database.drop()]);
    },
  };
}

/** Runs statements directly on the database, as the owner of its tables. */
export async function asOwner<T>(database: TestDatabase, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(database.ownerUrl, { max: 1, onnotice: () => {} });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}
