import type { BlockKind, PushedKind } from "@svc/core";

/** What enforcement points and verifiers are sent (docs/reference/identity.md#push). */
export interface PushedEvents {
  /**
   * Where the database is, and the events that became visible after `before`, each once, however late it commits. `lost`:
   * the database is behind `before`, as after a restore, or there are more events than `limit`.
   */
  read(before: PushPosition | undefined, limit: number): Promise<PushRead>;
  /** The events of transactions from this number on: those of a position's `oldestOpen` are all there. */
  fromTransaction(transaction: bigint, limit: number): Promise<readonly PushedEvent[]>;
  /** The events of this time or after, some earlier ones among them. Of all but revoked agents those of a day at most. */
  sinceTime(sinceMs: number, nowMs: number, limit: number): Promise<readonly PushedEvent[]>;
}

export interface PushRead {
  readonly position: PushPosition;
  readonly events: readonly PushedEvent[];
  readonly isLost: boolean;
}

/** A snapshot of the database's transactions. */
export interface PushPosition {
  readonly snapshot: string;
  /** Earlier transactions are over. */
  readonly oldestOpen: bigint;
  /** By the database's clock: what was committed earlier is visible in the snapshot. */
  readonly asOfMs: number;
}

export interface PushedEvent {
  readonly eventId: string;
  readonly kind: PushedKind;
  readonly atMs: number;
  readonly sessionId: string | null;
  readonly agent: string | null;
  readonly details: PushedDetails;
}

/** Of the event's details what is sent. */
export interface PushedDetails {
  readonly kind?: BlockKind;
  readonly ref?: string;
  readonly kid?: string;
  readonly not_before?: string;
}
