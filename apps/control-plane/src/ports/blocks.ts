import type { BlockKind } from "@svc/core";
import type { NewEvent } from "./administrative-event.ts";

/** An emergency deny above every pinned policy (docs/reference/routes.md#emergency-blocks). */
export interface StandingBlock {
  readonly kind: BlockKind;
  readonly ref: string;
  readonly reason: string;
  /** Null: until it is lifted. */
  readonly untilMs: number | null;
  readonly createdAtMs: number;
}

export interface Blocks {
  /** The blocks in force at `nowMs`, by kind and ref. */
  page(query: BlockQuery): Promise<readonly StandingBlock[]>;
}

/** Each change commits a new denial epoch and the event with it; durable when it resolves. */
export interface BlockChanges {
  /** Sets the block, or changes the one in force, which keeps its `createdAtMs`. An equal block stays as it is. */
  set(block: StandingBlock, event: NewEvent): Promise<StandingBlock>;
  /** False if no such block was in force. */
  lift(kind: BlockKind, ref: string, event: NewEvent): Promise<boolean>;
}

export interface BlockQuery {
  readonly nowMs: number;
  readonly after: { readonly kind: string; readonly ref: string } | undefined;
  readonly limit: number;
}
