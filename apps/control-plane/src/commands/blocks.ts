import type { BlockKind, StandingBlock } from "@svc/core";
import type { Actor } from "../ports/administrative-event.ts";
import type { CommandDeps } from "./deps.ts";

type BlockDeps = Pick<CommandDeps, "clock" | "ids" | "blocks">;

type BlockSet =
  | { readonly kind: "set"; readonly block: StandingBlock }
  /** It would block nothing. */
  | { readonly kind: "until_is_past" };

export async function setBlock(
  deps: BlockDeps,
  wanted: Omit<StandingBlock, "createdAtMs">,
  { by: actor, onPage }: Actor,
): Promise<BlockSet> {
  const { kind, ref, reason, untilMs } = wanted;
  const atMs = deps.clock.nowMs();
  if (untilMs !== null && untilMs <= atMs) return { kind: "until_is_past" };
  const until = untilMs === null ? null : new Date(untilMs).toISOString();
  const event = { eventId: deps.ids.next(), kind: "block_set", atMs, actor, reason, onPage } as const;
  const block = await deps.blocks.set(
    { ...wanted, createdAtMs: atMs },
    { ...event, agent: kind === "agent" ? ref : null, details: { kind, ref, until } },
  );
  return { kind: "set", block };
}

/** False if no block was in force; then nothing is recorded. */
export const liftBlock = (
  deps: BlockDeps,
  { kind, ref, reason = null }: { readonly kind: BlockKind; readonly ref: string; readonly reason?: string | null },
  { by: actor, onPage }: Actor,
): Promise<boolean> =>
  deps.blocks.lift(kind, ref, {
    eventId: deps.ids.next(),
    kind: "block_lifted",
    atMs: deps.clock.nowMs(),
    actor,
    reason,
    onPage,
    agent: kind === "agent" ? ref : null,
    details: { kind, ref },
  });
