/** Seals the record after the fact: who changes, removes or inserts a row later is found out (see packages/seals). */
export interface RecordSeals {
  /**
   * Seals every row that nothing can come before any more, in as many batches as it takes; each is durable by itself.
   * `busy` where another process is at it. Throws where the database cannot serve.
   */
  seal(): Promise<"done" | "busy">;
  /** The database's clock, by which rows are sealed. */
  nowMs(): Promise<number>;
  /** The time in the identifier of the oldest row that is not sealed; null where all are. */
  oldestUnsealedMs(): Promise<number | null>;
}
