import type { Blocks, StandingBlock } from "../../ports/blocks.ts";
import type { Clock, Ids } from "../../ports/clock.ts";

export interface BlockDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly blocks: Blocks;
}

export interface SetBlock extends Omit<StandingBlock, "createdAtMs"> {
  readonly actor: string;
}

export type BlockSet =
  | { readonly kind: "set"; readonly block: StandingBlock }
  /** It would block nothing. */
  | { readonly kind: "until_is_past" };

export async function setBlock(deps: BlockDeps, { actor, ...wanted }: SetBlock): Promise<BlockSet> {
  const nowMs = deps.clock.nowMs();
  if (wanted.untilMs !== null && wanted.untilMs <= nowMs) return { kind: "until_is_past" };
  const { kind, ref, reason, untilMs } = wanted;
  const until = untilMs === null ? null : new Date(untilMs).toISOString();
  const block = await deps.blocks.set(
    { ...wanted, createdAtMs: nowMs },
    {
      eventId: deps.ids.next(),
      kind: "block_set",
      atMs: nowMs,
      actor,
      sessionId: null,
      agent: kind === "agent" ? ref : null,
      reason,
      details: { kind, ref, until },
    },
  );
  return { kind: "set", block };
}
