import type { Transaction } from "./database.ts";

/**
 * In the transaction of whatever concerns all sessions (a revocation, a block, a key): what is decided on the state
 * before it can no longer be written. Random, not counted: after a failover a counter could climb back to a number that
 * a decision still holds.
 */
export async function replaceDenialEpoch(tx: Transaction): Promise<void> {
  await tx`update denial_epoch set epoch = gen_random_uuid()`;
}
