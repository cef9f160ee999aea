import { decodeUnverifiedHopToken, sha256Base64url } from "@svc/tokens";
import type { HopCredential } from "../steps/step.ts";
import type { LeaseOptions, LeaseResult } from "./lease.ts";
import type { RenewalSource } from "./renewal-source.ts";
import { type LeasePurpose, TokenPool, type TokenPoolPorts } from "./token-pool.ts";
import { unreferenced } from "./waiters.ts";

export interface RenewalPoolOptions extends Partial<TokenPoolPorts> {
  readonly source: RenewalSource;
  /** Seconds without a lease after which a pool shrinks to its reserved tokens. Default 300. */
  readonly idleSeconds?: number;
  /** Most pools at once. Default 1024. */
  readonly maxPools?: number;
}

export type RenewalPool = ReturnType<typeof createRenewalPool>;

const sweepMs = 1_000;

/** One pool of renewed siblings per presented token (docs/reference/enforcement-point.md#renewed-tokens). */
export function createRenewalPool(options: RenewalPoolOptions) {
  const { source, store, idleSeconds = 300, maxPools = 1024 } = options;
  const { now = Date.now, monotonicMs = () => performance.now(), random = Math.random, after = unreferenced } = options;
  const ports = { source, store, now, monotonicMs, random, after, idleMs: idleSeconds * 1000 };
  /** By hash of the presented token; the longest unused first. */
  const pools = new Map<string, TokenPool>();
  let isClosed = false;
  let stopSweeping: (() => void) | undefined;

  const end = (key: string, pool: TokenPool) => {
    pools.delete(key);
    void pool.end();
  };

  const sweep = () => {
    for (const [key, pool] of pools) {
      if (pool.isRejected || (pool.isIdle && pool.isDry)) end(key, pool);
      else pool.tend();
    }
    stopSweeping = pools.size > 0 ? after(sweepMs, sweep) : undefined;
  };

  /** Ends a dry pool, else one of which nothing was spent, else the one unused for longest; false where all are busy. */
  const makeRoom = (): boolean => {
    if (pools.size < maxPools) return true;
    const idle = [...pools].filter(([, pool]) => !pool.isBusy);
    const removable = idle.find(([, pool]) => pool.isDry) ?? idle.find(([, pool]) => pool.isUntouched) ?? idle[0];
    if (removable) end(...removable);
    return removable !== undefined;
  };

  const poolOf = (presented: HopCredential, key: string): TokenPool | undefined => {
    if (pools.get(key)?.isRejected) pools.delete(key);
    const pool = pools.get(key) ?? (makeRoom() ? new TokenPool(key, presented, ports) : undefined);
    if (!pool) return undefined;
    pools.delete(key);
    pools.set(key, pool);
    stopSweeping ??= after(sweepMs, sweep);
    return pool;
  };

  const leasing =
    (purpose: LeasePurpose) =>
    async (presented: HopCredential, leaseOptions: LeaseOptions): Promise<LeaseResult> => {
      if (isClosed) return { kind: "unusable", fault: "closed" };
      const key = sha256Base64url(presented.token);
      // Siblings belong to the token's own session, whichever one the caller names: checked before anything is spent.
      const sessionId = pools.get(key)?.presented.sessionId ?? decodeUnverifiedHopToken(presented.token)?.sessionId;
      if (sessionId !== presented.sessionId) return { kind: "unauthorized" };
      const pool = poolOf(presented, key);
      if (!pool) return { kind: "unusable", fault: "pool_full" };
      const result = await pool[purpose](leaseOptions);
      if (pool.isRejected && pools.get(key) === pool) pools.delete(key);
      return result;
    };

  return {
    /**
     * A token to spend in place of the presented one. No token is leased twice unless it was given back, and none that
     * may have been spent is presented again. After a renewal that was refused on its merits the unspent token is leased,
     * so that its exchange is a recorded deny.
     */
    lease: leasing("lease"),
    /**
     * A token to decide with and spend in one trip. It is only read where it is the presented one, before its first
     * renewal, where a reserved one was lost, and where no renewal is possible.
     */
    leaseToTake: leasing("leaseToTake"),
    /** An unspent token to decide with: the presented one before the first renewal. Nothing is renewed for it. */
    leaseToDecide: leasing("leaseToDecide"),
    /** Nothing is renewed any more for the presented tokens whose session or agent is over. */
    endRenewals(isOver: (presented: HopCredential) => boolean): void {
      for (const pool of pools.values()) if (isOver(pool.presented)) pool.endRenewals();
    },
    size: () => pools.size,
    /** Ends every timer and rejects further leases; resolves when renewals under way are over and stored. */
    async close(): Promise<void> {
      isClosed = true;
      stopSweeping?.();
      await Promise.all([...pools.values()].map((pool) => pool.close()));
      pools.clear();
    },
  };
}
