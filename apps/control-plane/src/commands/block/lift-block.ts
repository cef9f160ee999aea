import type { BlockKind } from "@svc/core";
import type { BlockDeps } from "./set-block.ts";

export interface LiftBlock {
  readonly kind: BlockKind;
  readonly ref: string;
  readonly actor: string;
}

/** Whether a block stood; without one there is nothing to lift, and nothing is recorded. */
export const liftBlock = (deps: BlockDeps, { kind, ref, actor }: LiftBlock): Promise<boolean> =>
  deps.blocks.lift(kind, ref, {
    eventId: deps.ids.next(),
    kind: "block_lifted",
    atMs: deps.clock.nowMs(),
    actor,
    sessionId: null,
    agent: kind === "agent" ? ref : null,
    reason: null,
    details: { kind, ref },
  });
