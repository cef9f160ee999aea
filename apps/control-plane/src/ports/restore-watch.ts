/**
 * `behind`: the database is older than one that this deployment served, so it forgot spends and revocations.
 * `unknown`: this process could not compare yet.
 */
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
  /**
   * Compares nothing.
   * @throws {RestoreUnacknowledged}
   * @throws {RestoreUnknown}
   */
  requireAcknowledged(): void;
}
