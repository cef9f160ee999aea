import { type KeyChange, type MakeKey, type ManagedKey, signingAt } from "../ports/issuer-keys.ts";
import type { CommandDeps } from "./deps.ts";
import { endSessions } from "./sessions.ts";

export type KeyDeps = Pick<CommandDeps, "clock" | "ids" | "issuerKeys" | "issuerKeyStore" | "makeKey">;

/**
 * A key is published so long before it signs, so that every verifier knows it by then
 * (docs/reference/tokens.md#issuer-keys).
 */
const publishAheadMs = 600_000;

interface RotateKey {
  /** In an emergency: the next key signs at once. */
  readonly now: boolean;
  readonly actor: string;
}

/** `already_next`: published before, and still the next. */
type Rotated = ({ readonly kind: "rotated" | "already_next" } & ManagedKey) | { readonly kind: "configured" };

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
const nextAfter = (keys: readonly ManagedKey[], nowMs: number): ManagedKey | undefined =>
  keys.find(({ activatesAtMs }) => activatesAtMs > nowMs);

/**
 * Refuses at once whatever the key signed (docs/reference/tokens.md#issuer-keys). If it was the signing key, the next
 * one takes over. A superseded key never signs again, so without a next one a new key is made.
 */
export async function removeKey(
  deps: KeyDeps,
  { kid, actor }: { readonly kid: string; readonly actor: string },
): Promise<{ readonly kind: "removed" | "already_removed" | "key_not_found" | "configured" }> {
  const { makeKey } = deps;
  if (makeKey === undefined) return { kind: "configured" };
  const kind = await deps.issuerKeyStore.change(async (change) => {
    if (!change.keys.some((key) => key.kid === kid)) {
      return (await change.wasRemoved(kid)) ? ("already_removed" as const) : ("key_not_found" as const);
    }
    const nowMs = deps.clock.nowMs();
    await change.remove(kid, nowMs);
    if (signingAt(change.keys, nowMs).kid === kid) await appointNext(change, kid, makeKey, nowMs);
    await change.record({ eventId: deps.ids.next(), kind: "key_removed", atMs: nowMs, actor, details: { kid } });
    return "removed" as const;
  });
  await deps.issuerKeys.recheck();
  return { kind };
}

async function appointNext(change: KeyChange, removed: string, makeKey: MakeKey, nowMs: number): Promise<void> {
  const left = change.keys.filter(({ kid }) => kid !== removed);
  const next = nextAfter(left, nowMs);
  if (next === undefined) await change.add(await makeKey(), nowMs, nowMs);
  else await change.activate(next.kid, nowMs);
}

interface Raised {
  /** Earlier tokens are refused. */
  readonly notBeforeMs: number;
  /** The key that signs from now on. */
  readonly kid: string;
  /** How many sessions this call ended. */
  readonly revoked: number;
}

/**
 * For the time after a restore, which forgets spends and revocations. Refuses every earlier token, by its time here and
 * by its key everywhere, ends every session, and acknowledges the restore. A repeated call completes a failed one.
 */
export async function raiseIssuerEpoch(
  deps: KeyDeps & Pick<CommandDeps, "sessions" | "restoreWatch">,
  reason: string | null,
  actor: string,
): Promise<Raised> {
  const { clock, ids, restoreWatch } = deps;
  const seen = await restoreWatch.seen();
  const notBeforeMs = await deps.issuerKeyStore.change(async (change) => {
    const nowMs = clock.nowMs();
    await change.raiseEpoch(nowMs);
    await change.acknowledgeRestore(seen);
    await replaceKeys(deps, change, nowMs);
    const details = { not_before: new Date(nowMs).toISOString() };
    await change.record({ eventId: ids.next(), kind: "issuer_epoch_raised", atMs: nowMs, actor, reason, details });
    return nowMs;
  });
  const { kid } = (await deps.issuerKeys.recheck()).signingKey();
  const revoked = await endSessions(deps, {}, { reason: reason ?? "the issuer epoch was raised", by: actor });
  await restoreWatch.lookAfresh();
  return { notBeforeMs, kid, revoked };
}

/** The operator replaces a key of the settings. The epoch alone refuses what it signed. */
async function replaceKeys({ makeKey }: KeyDeps, change: KeyChange, nowMs: number): Promise<void> {
  if (makeKey === undefined) return;
  for (const { kid } of change.keys) await change.remove(kid, nowMs);
  await change.add(await makeKey(), nowMs, nowMs);
}
