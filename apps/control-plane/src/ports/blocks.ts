import type { BlockKind, StandingBlock } from "@svc/core";
import type { NewEvent } from "./administrative-event.ts";
import type { Paged } from "./audit-reads.ts";

/** Each change commits a new denial epoch and the event with it; durable when it resolves. */
export interface Blocks {
  /** The blocks in force at `nowMs`, by kind and ref. */
  page(
    query: Paged<{ readonly kind: string; readonly ref: string }> & { readonly nowMs: number },
  ): Promise<readonly StandingBlock[]>;
  /** Undefined where none is in force. */
  find(block: Pick<StandingBlock, "kind" | "ref">, nowMs: number): Promise<StandingBlock | undefined>;
  /** Sets the block, or changes the one in force, which keeps its `createdAtMs`. An equal block stays as it is. */
  set(block: StandingBlock, event: NewEvent): Promise<StandingBlock>;
  /** False if no such block was in force. */
  lift(kind: BlockKind, ref: string, event: NewEvent): Promise<boolean>;
}
