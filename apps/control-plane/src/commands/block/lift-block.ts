import type { BlockKind } from "@svc/core";
import type { BlockDeps } from "./set-block.ts";

export interface LiftBlock {
  readonly kind: BlockKind;
  readonly ref: string;
  readonly actor: string;
}

/** False if no block was in force; then nothing is recorded. */
export const liftBlock = (deps: BlockDeps, { kind, ref, actor }: LiftBlock): Promise<boolean> =>
  deps.blockChanges.lift(kind, ref, {
    eventId: deps.ids.next(),
    kind: "block_lifted",
    atMs: deps.clock.nowMs(),
    actor,
    agent: kind === "agent" ? ref : null,
    details: { kind, ref },
  });
