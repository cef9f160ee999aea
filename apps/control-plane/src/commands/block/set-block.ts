import type { StandingBlock } from "../../ports/blocks.ts";
import type { CommandDeps } from "../deps.ts";

export type BlockDeps = Pick<CommandDeps, "clock" | "ids" | "blockChanges">;

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
  const block = await deps.blockChanges.set(
    { ...wanted, createdAtMs: nowMs },
    {
      eventId: deps.ids.next(),
      kind: "block_set",
      atMs: nowMs,
      actor,
      agent: kind === "agent" ? ref : null,
      reason,
      details: { kind, ref, until: untilMs === null ? null : new Date(untilMs).toISOString() },
    },
  );
  return { kind: "set", block };
}
