/** How far a database had come when it was looked at. */
export interface Witness {
  /** Made with the schema: a fresh database is another deployment, a restored one the same. */
  readonly deployment: string;
  /** Only rises, unless the database is taken back to an earlier state. */
  readonly count: bigint;
}

/** As the database itself has it. */
export interface WitnessCount {
  read(): Promise<Witness>;
  /**
   * Raises the count by one, unless it stands below what was seen, is another deployment's, or was raised by any process
   * just now; undefined then. Durable, on a synchronous standby too, when it resolves.
   */
  raise(seen: Witness): Promise<bigint | undefined>;
}

/** As the cache store remembers it. Both throw GuardUnavailable within the store's deadline. */
export interface WitnessMemory {
  /** The highest count that was kept for a deployment; 0 where none was, or all was forgotten. */
  seen(deployment: string): Promise<bigint>;
  /** For good, unless a higher one is kept already; atomic across every process on the same store. */
  keep(witness: Witness): Promise<void>;
}
