/** The reserved tokens of a pool, which survive a restart. */
export interface PoolSnapshot {
  readonly sessionId: string;
  readonly tokens: readonly {
    readonly token: string;
    /** Milliseconds since the epoch. */
    readonly expiresAt: number;
  }[];
}

/** Stores pools. Keys are base64url SHA-256 of the presented token; one process uses a key at a time. */
export interface PoolStore {
  /** Undefined for a key that was never saved, or was removed. */
  load(key: string): Promise<PoolSnapshot | undefined>;
  /** Replaces the whole snapshot or nothing; durable when it resolves. */
  save(key: string, snapshot: PoolSnapshot): Promise<void>;
  /** Resolves also for an unknown key. */
  remove(key: string): Promise<void>;
}
