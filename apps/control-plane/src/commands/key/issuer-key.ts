import type { Clock, Ids } from "../../ports/clock.ts";
import type { IssuerKeyStore, IssuerKeys, MakeKey, ManagedKey } from "../../ports/issuer-keys.ts";

export interface KeyDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly issuerKeys: IssuerKeys;
  readonly issuerKeyStore: IssuerKeyStore;
  /** Undefined where the settings give the one key: none is made or removed then. */
  readonly makeKey: MakeKey | undefined;
}

/** The one that signs at this moment; `keys` oldest first, and never none. */
export function signingAt<Key extends Pick<ManagedKey, "activatesAtMs">>(keys: readonly Key[], nowMs: number): Key {
  const signing = keys.findLast(({ activatesAtMs }) => activatesAtMs <= nowMs) ?? keys[0];
  if (signing === undefined) throw new Error("no signing key is left: rotate one in");
  return signing;
}

/** The one that is published and will sign next. */
export const nextAfter = (keys: readonly ManagedKey[], nowMs: number): ManagedKey | undefined =>
  keys.find(({ activatesAtMs }) => activatesAtMs > nowMs);
