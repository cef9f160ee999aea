import { type KeyChange, type MakeKey, signingAt } from "../../ports/issuer-keys.ts";
import { type KeyDeps, nextAfter } from "./rotate-key.ts";

export interface RemoveKey {
  readonly kid: string;
  readonly actor: string;
}

export type KeyRemoval = { readonly kind: "removed" | "already_removed" | "key_not_found" | "configured" };

/**
 * Refuses at once whatever the key signed (docs/reference/tokens.md#issuer-keys). If it was the signing key, the next
 * one takes over. A superseded key never signs again, so without a next one a new key is made.
 */
export async function removeKey(deps: KeyDeps, { kid, actor }: RemoveKey): Promise<KeyRemoval> {
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
