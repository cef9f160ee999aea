/** Seals the record, so that a later change, removal or insertion of a row is found (see packages/seals). */
export interface RecordSeals {
  /** Seals rows that no row can precede any more, in durable batches, or throws. `busy`: another process does it. */
  seal(): Promise<"done" | "busy">;
  /** The database's clock, which decides what is sealed. */
  nowMs(): Promise<number>;
  /** The time in the identifier of the oldest unsealed row; null if all are sealed. */
  oldestUnsealedMs(): Promise<number | null>;
  /** Numbers of stored rows after the newest proven seal that are none of this service, as of the last read. */
  unproven(): readonly number[];
}

/** Rows in the table of seals that are none of this service. Seals continue from the newest one that is, if any. */
export class SealsUnproven extends Error {
  constructor(batches: readonly number[]) {
    const named = batches.slice(0, 10).join(", ");
    super(
      `${batches.length} rows of the table seal are not this service's (batch ${named}): find out who wrote them, run svc ` +
        "audit verify, and let a database administrator remove them; restore SVC_KEY_ENCRYPTION_KEY if it was changed",
    );
  }
}
