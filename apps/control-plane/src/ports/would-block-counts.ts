/** Counts observed denies for the would-block list, after they were committed. Repeatable, one process at a time. */
export interface WouldBlockCounts {
  /** Counts the next rows that no row can precede any more. `busy`: another process does, or retention. Throws on a fault. */
  countNext(): Promise<"more" | "done" | "busy">;
}
