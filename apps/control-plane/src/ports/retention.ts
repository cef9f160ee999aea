/** Repeatable, one process at a time. `busy`: another does it, or a table was in use too long. Throws on a fault. */
export interface Retention {
  /** Makes the partitions of this month and the next ones, so that no decision waits for one. */
  prepareMonths(): Promise<"done" | "busy">;
  /** Drops months past retention with their spends and counts, and what has expired: enrollments, blocks, unused keys. */
  retire(): Promise<"done" | "busy">;
  /** When any process last finished `retire`; null before the first time. */
  lastDoneMs(): Promise<number | null>;
}
