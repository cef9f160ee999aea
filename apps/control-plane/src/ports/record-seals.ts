/** Seals the record, so that a later change, removal or insertion of a row is found (see packages/seals). */
export interface RecordSeals {
  /** Seals rows that no row can precede any more, in durable batches, or throws. `busy`: another process does it. */
  seal(): Promise<"done" | "busy">;
  /** The database's clock, which decides what is sealed. */
  nowMs(): Promise<number>;
  /** The time in the identifier of the oldest unsealed row; null if all are sealed. */
  oldestUnsealedMs(): Promise<number | null>;
}
