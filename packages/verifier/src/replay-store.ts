/** Admitted transactions. Replicas of one resource server share one store. */
export interface ReplayStore {
  /**
   * True for the first call with this `txn`, then false until `expiresAt` (seconds since the epoch). Atomic. Throws
   * where it cannot decide: the call is not admitted then.
   */
  admitOnce(txn: string, expiresAt: number): boolean | Promise<boolean>;
}

/** Options of the store in memory. */
export interface MemoryReplayStoreOptions {
  /** Most unexpired transactions. Default 100,000. */
  readonly capacity?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Milliseconds on a clock that never steps. */
  readonly monotonicMs?: () => number;
}

/** For one process. Full of unexpired transactions it throws: dropping one would admit it again. */
export function memoryReplayStore({
  capacity = 100_000,
  now = Date.now,
  monotonicMs = () => performance.now(),
}: MemoryReplayStoreOptions = {}): ReplayStore {
  /** In order of admission, which is nearly that of expiry; on the monotonic clock, which never steps. */
  const expiresAtMs = new Map<string, number>();

  const dropExpired = () => {
    for (const [txn, atMs] of expiresAtMs) {
      if (atMs > monotonicMs()) return;
      expiresAtMs.delete(txn);
    }
  };

  return {
    admitOnce(txn, expiresAt) {
      dropExpired();
      if (expiresAtMs.has(txn)) return false;
      if (expiresAtMs.size >= capacity) throw new RangeError("replay store is full");
      expiresAtMs.set(txn, monotonicMs() + expiresAt * 1000 - now());
      return true;
    },
  };
}
