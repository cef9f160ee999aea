import type { BlockKind } from "@svc/core";
import type { AdministrativeEvent } from "./administrative-event.ts";

/** A deny that no pinned policy outlives (contract: Emergency blocks). */
export interface StandingBlock {
  readonly kind: BlockKind;
  readonly ref: string;
  readonly reason: string;
  /** From then on it blocks nothing; null for one that must be lifted. */
  readonly untilMs: number | null;
  readonly createdAtMs: number;
}

export interface Blocks {
  /**
   * Sets the block, or changes the one that stands, which keeps its `createdAtMs`, and answers it. With it a fresh
   * denial epoch and the event, all or nothing, durable when it resolves; a block that stands just so is left alone.
   */
  set(block: StandingBlock, event: AdministrativeEvent): Promise<StandingBlock>;
  /** Lifts the block that stands, with a fresh denial epoch and the event. Whether one stood. */
  lift(kind: BlockKind, ref: string, event: AdministrativeEvent): Promise<boolean>;
  /** Those in force at `nowMs`, by kind and ref, each after the one the page before ended with. */
  page(query: BlockQuery): Promise<readonly StandingBlock[]>;
}

export interface BlockQuery {
  readonly nowMs: number;
  readonly after: { readonly kind: string; readonly ref: string } | undefined;
  readonly limit: number;
}
