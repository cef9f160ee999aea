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

/** `behind`: older than a database that was served, so spends and revocations are lost. `unknown`: not compared yet. */
export type RestoreState = "unknown" | "current" | "behind";

/** Nothing is granted until the issuer epoch refuses all earlier tokens (docs/reference/tokens.md#after-a-restore). */
export class RestoreUnacknowledged extends Error {
  readonly code = "restore_unacknowledged";
}

/** This process has not read both stores since its start. */
export class RestoreUnknown extends Error {
  readonly code = "guard_unavailable";
}

export interface RestoreWatch {
  /** Compares now, single-flight. Keeps the last result if a store does not answer. Never rejects. */
  look(): Promise<RestoreState>;
  /** Compares after the call. */
  lookAfresh(): Promise<RestoreState>;
  /** The highest count seen of this database. An acknowledgement goes above it. */
  seen(): Promise<bigint>;
  /** Compares nothing. @throws {RestoreUnacknowledged | RestoreUnknown} */
  requireAcknowledged(): void;
}
