import type { Transaction } from "./database.ts";

/** Runs a task under an advisory lock until the end of the transaction; `taken` if any process holds the lock. */
export async function oneAtATime<T>(
  tx: Transaction,
  advisoryLock: number,
  task: (tx: Transaction) => Promise<T>,
): Promise<T | "taken"> {
  await tx`set local statement_timeout = '30s'`;
  const [row] = await tx<{ locked: boolean }[]>`select pg_try_advisory_xact_lock(${advisoryLock}) as locked`;
  return row?.locked ? task(tx) : "taken";
}
