import type { SinkName } from "@svc/core";
import type { FeedItem } from "@svc/seals";

/** What a sink has: every batch of seals up to `batch`, and the first `entries` of the next one. */
export interface SinkPosition {
  readonly batch: number;
  readonly entries: number;
}

/** The right of one process to deliver to a sink. */
export interface SinkClaim extends SinkPosition {
  readonly sink: SinkName;
  /** Since the last delivery. */
  readonly failures: number;
}

export interface SinkBatch {
  readonly batch: number;
  readonly items: readonly FeedItem[];
}

export interface SinkStatus extends SinkPosition {
  readonly sink: SinkName;
  /** Entries that are sealed and not delivered. */
  readonly undelivered: number;
  /** The time of the next one; null if there is none. */
  readonly nextAtMs: number | null;
  readonly deliveredAtMs: number | null;
  readonly failures: number;
  readonly failingSinceMs: number | null;
  readonly lastError: string | null;
  readonly retryAtMs: number | null;
}

/** The record as an outbox, in the order of its seals: no row can be sealed before one that is delivered. */
export interface Sinks {
  /** A sink that is new begins after the newest seal. */
  register(sink: SinkName): Promise<void>;
  /** Claims or keeps a sink for some seconds; undefined while another process has it, or a retry is not due. */
  claim(sink: SinkName): Promise<SinkClaim | undefined>;
  /** The first batch after that one, without what the position has of it; undefined if there is none. */
  read(position: SinkPosition): Promise<SinkBatch | undefined>;
  /** Moves the position and keeps the claim. False where another process claimed the sink, or it was moved. */
  accepted(sink: SinkName, position: SinkPosition): Promise<boolean>;
  /** Ends the claim; no process tries again for so long. */
  failed(sink: SinkName, fault: string, pauseMs: number): Promise<void>;
  release(sink: SinkName): Promise<void>;
  statuses(): Promise<readonly SinkStatus[]>;
  /** Moves a position back to the first batch with rows of that time; never forward. Undefined: there is no such sink. */
  replay(sink: SinkName, sinceMs: number): Promise<SinkStatus | undefined>;
}
