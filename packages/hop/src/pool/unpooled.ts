import { type Lease, type LeaseResult, leased } from "./lease.ts";
import type { RenewalPool } from "./renewal-pool.ts";

const spendOnce = async ({ token }: Pick<Lease, "token">): Promise<LeaseResult> =>
  leased({ token, maySpend: true }, { back() {} });

/** Of a fresh token that one caller holds, for one hop: it is spent itself, and nothing is renewed or kept. */
export const unpooled: RenewalPool = {
  lease: spendOnce,
  leaseToTake: spendOnce,
  leaseToDecide: spendOnce,
  endRenewals() {},
  size: () => 0,
  close: async () => {},
};
