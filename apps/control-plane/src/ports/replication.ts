/** Positions in the log of the primary. */
export interface Replication {
  written(): Promise<bigint>;
  /** Null for a server that is no standby: its log is another one. */
  replayed(): Promise<bigint | null>;
}

export interface StandbyWatch {
  /** Whether the standby answered the last query. */
  isAnswering(): boolean;
  /** Milliseconds since the latest moment of which the standby shows every commit; Infinity if that is unknown. */
  behindMs(): number;
}
