/** Remembers which transactions were admitted. Replicas of one resource server share one. */
export interface ReplayStore {
  /**
   * True for the first time this `txn` is asked about, false ever after until `expiresAt` (seconds since the epoch).
   * Atomic. Throws where it cannot know: the call is then not admitted.
   */
  admitOnce(txn: string, expiresAt: number): boolean | Promise<boolean>;
}

/** How much is remembered, and by which clocks. */
export interface MemoryReplayStoreOptions {
  /** Most transactions remembered at once. Default 100,000. */
  readonly capacity?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Milliseconds on a clock that never steps. */
  readonly monotonicMs?: () => number;
}

/** For one process. Full of unexpired transactions it throws, rather than forget one that could come again. */
export function memoryReplayStore({
  capacity = 100_000,
  now = Date.now,
  monotonicMs = () => performance.now(),
}: MemoryReplayStoreOptions = {}): ReplayStore {
  /** In order of admission, which is nearly the order of expiry. On the monotonic clock, which no step shortens. */
  const forgettableAtMs = new Map<string, number>();

  const forgetExpired = () => {
    for (const [txn, atMs] of forgettableAtMs) {
      if (atMs > monotonicMs()) return;
      forgettableAtMs.delete(txn);
    }
  };

  return {
    admitOnce(txn, expiresAt) {
      forgetExpired();
      if (forgettableAtMs.has(txn)) return false;
      if (forgettableAtMs.size >= capacity) throw new RangeError("replay store is full");
      forgettableAtMs.set(txn, monotonicMs() + expiresAt * 1000 - now());
      return true;
    },
  };
}
