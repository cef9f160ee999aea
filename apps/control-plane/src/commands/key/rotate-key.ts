import { type ManagedKey, signingAt } from "../../ports/issuer-keys.ts";
import type { CommandDeps } from "../deps.ts";

export type KeyDeps = Pick<CommandDeps, "clock" | "ids" | "issuerKeys" | "issuerKeyStore" | "makeKey">;

/**
 * A key is published so long before it signs, so that every verifier knows it by then
 * (docs/reference/tokens.md#issuer-keys).
 */
const publishAheadMs = 600_000;

export interface RotateKey {
  /** In an emergency: the next key signs at once. */
  readonly now: boolean;
  readonly actor: string;
}

export type Rotated =
  | ({ readonly kind: "rotated" } & ManagedKey)
  /** Published before, and still the next. */
  | ({ readonly kind: "already_next" } & ManagedKey)
  | { readonly kind: "configured" };

/**
 * Publishes the key that signs next. A published one stays the next, so that repeated calls make no more keys, and an
 * emergency takes the key that verifiers know.
 */
export async function rotateKey(deps: KeyDeps, { now, actor }: RotateKey): Promise<Rotated> {
  const { makeKey } = deps;
  if (makeKey === undefined) return { kind: "configured" };
  const made = await makeKey();
  const next = await deps.issuerKeyStore.change(async (change): Promise<Rotated> => {
    const nowMs = deps.clock.nowMs();
    const pending = nextAfter(change.keys, nowMs);
    if (pending !== undefined && !now) return { kind: "already_next", ...pending };
    const activatesAtMs = now ? afterSigning(change.keys, nowMs) : nowMs + publishAheadMs;
    if (pending === undefined) await change.add(made, nowMs, activatesAtMs);
    else await change.activate(pending.kid, activatesAtMs);
    const kid = pending?.kid ?? made.kid;
    const details = { kid, activates_at: new Date(activatesAtMs).toISOString() };
    await change.record({ eventId: deps.ids.next(), kind: "key_rotated", atMs: nowMs, actor, details });
    return { kind: "rotated", kid, activatesAtMs };
  });
  await deps.issuerKeys.recheck();
  return next;
}

/** The newest key signs, so two rotations in one millisecond must not tie. */
const afterSigning = (keys: readonly ManagedKey[], nowMs: number): number =>
  Math.max(nowMs, signingAt(keys, nowMs).activatesAtMs + 1);

/** The published key that signs next. */
export const nextAfter = (keys: readonly ManagedKey[], nowMs: number): ManagedKey | undefined =>
  keys.find(({ activatesAtMs }) => activatesAtMs > nowMs);
