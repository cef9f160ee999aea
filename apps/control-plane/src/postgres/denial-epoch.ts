import type { Transaction } from "./database.ts";

/**
 * Call it in the transaction of every change that concerns all sessions (revocation, block, key): a decision on the
 * earlier state can then no longer be written. Random, since after a failover a counter could repeat.
 */
export async function replaceDenialEpoch(tx: Transaction): Promise<void> {
  await tx`update denial_epoch set epoch = gen_random_uuid()`;
}
