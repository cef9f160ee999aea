import type { Transaction } from "./database.ts";

/**
 * Does a task where no other transaction, of any process, holds the same lock: `taken` where one does. The lock goes with
 * the transaction.
 */
export async function oneAtATime<T>(
  tx: Transaction,
  advisoryLock: number,
  task: (tx: Transaction) => Promise<T>,
): Promise<T | "taken"> {
  await tx`set local statement_timeout = '30s'`;
  const [row] = await tx<{ locked: boolean }[]>`select pg_try_advisory_xact_lock(${advisoryLock}) as locked`;
  return row?.locked ? task(tx) : "taken";
}
