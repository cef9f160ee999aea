/** What outlives a restart: the unspent tokens that a pool keeps back. */
export interface PoolSnapshot {
  readonly sessionId: string;
  readonly tokens: readonly {
    readonly token: string /** Milliseconds since the epoch. */;
    readonly expiresAt: number;
  }[];
}

/** Keeps pools over a restart. Keys are base64url SHA-256 of the presented token; one process holds a key at a time. */
export interface PoolStore {
  /** Undefined for a key never saved, removed, or no longer readable. */
  load(key: string): Promise<PoolSnapshot | undefined>;
  /** Replaces the whole snapshot, or nothing: durable and never half written when it resolves. */
  save(key: string, snapshot: PoolSnapshot): Promise<void>;
  /** Quiet where the key is unknown. */
  remove(key: string): Promise<void>;
}
