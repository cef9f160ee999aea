/**
 * Keeps the record's house. Each act is repeatable, and done by one process at a time: `busy` where another is at it, or
 * where a table was in use for too long; then it is for later. Both throw where the database cannot serve.
 */
export interface Housekeeping {
  /** Makes this month of the log and the next ones, so that no decision has to wait for its month. */
  prepareMonths(): Promise<"done" | "busy">;
  /**
   * Drops months past their life together with their spends, and what ended by itself: enrollments and blocks that lapsed,
   * keys of which every token has expired. Notes that it was done.
   */
  retire(): Promise<"done" | "busy">;
  /** When `retire` was last done, by whichever process; null before the first time. */
  lastDoneMs(): Promise<number | null>;
}
