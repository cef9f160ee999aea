/** How far a database has come. */
export interface HighWaterMark {
  /** Made with the schema. A new database is another deployment, a restored one is the same. */
  readonly deployment: string;
  /** Only rises, unless the database is restored to an earlier state. */
  readonly count: bigint;
}

/** The mark in the database. */
export interface HighWaterMarkCounter {
  read(): Promise<HighWaterMark>;
  /**
   * Raises the count by one; durable when it resolves, on a synchronous standby too. Undefined if the count is below
   * `seen`, of another deployment, or was raised by any process in the last 1.5 s.
   */
  raise(seen: HighWaterMark): Promise<bigint | undefined>;
}

/** The mark in the cache store, which no restore of the database reaches. Throws GuardUnavailable within its deadline. */
export interface HighWaterMarkStore {
  /** The highest kept count of a deployment; 0 without one. */
  seen(deployment: string): Promise<bigint>;
  /** Keeps the higher count, without expiry; atomic across every process on the same store. */
  keep(mark: HighWaterMark): Promise<void>;
}
