import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { GuardUnavailable, type ReplayGuard } from "../ports/replay-guard.ts";

/** Thrown where another process without a cache store serves the same database. */
export class AnotherProcess extends Error {
  readonly code = "another_process";
  constructor() {
    super("another process without REDIS_URL serves this database; stop it, or give both the same REDIS_URL");
    this.name = "AnotherProcess";
  }
}

/** Any constant, the same in every process. */
export const advisoryLock = 7_270_125_024;
/** A process killed a moment ago: its connection may still count. */
const patienceMs = 3000;

/**
 * Admits an in-process guard as the only one on its database, by a session lock there. Without the lock (the connection
 * was lost, and whoever is there takes it anew) claims throw GuardUnavailable.
 * Throws AnotherProcess.
 */
export async function soleProcess(guard: ReplayGuard, databaseUrl: string): Promise<ReplayGuard> {
  let held = false;
  let closed = false;
  let taking = false;
  const sql = postgres(databaseUrl, {
    max: 1,
    max_lifetime: null,
    connect_timeout: 2,
    onnotice: () => {},
    onclose: () => {
      held = false;
      void takeAgain();
    },
    connection: { application_name: "svc-sole-process" },
  });
  const take = async (): Promise<boolean> => {
    const [row] = await sql<{ held: boolean }[]>`select pg_try_advisory_lock(${advisoryLock}) as held`;
    held = row?.held ?? false;
    return held;
  };
  const takeAgain = async (): Promise<void> => {
    if (taking) return;
    taking = true;
    while (!closed && !(await take().catch(() => false))) await delay(250);
    taking = false;
  };
  const close = async (): Promise<void> => {
    closed = true;
    await sql.end({ timeout: 1 });
  };

  const endMs = performance.now() + patienceMs;
  try {
    while (!(await take())) {
      if (performance.now() > endMs) throw new AnotherProcess();
      await delay(100);
    }
  } catch (cause) {
    await close();
    throw cause;
  }
  const whileHeld = <T>(act: () => Promise<T>): Promise<T> =>
    held ? act() : Promise.reject(new GuardUnavailable("this process is not the only one on its database"));
  return {
    claim: (claim) => whileHeld(() => guard.claim(claim)),
    release: (claim) => whileHeld(() => guard.release(claim)),
    ping: () => whileHeld(() => guard.ping()),
    evictionPolicy: () => guard.evictionPolicy(),
    async close() {
      await close();
      await guard.close();
    },
  };
}
