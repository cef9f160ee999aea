import type { Clock, Ids } from "../../ports/clock.ts";
import type { IssuerKeyStore, IssuerKeys, MakeKey, ManagedKey } from "../../ports/issuer-keys.ts";

export interface KeyDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly issuerKeys: IssuerKeys;
  readonly issuerKeyStore: IssuerKeyStore;
  /** Undefined if the settings give the one key: then none is made or removed. */
  readonly makeKey: MakeKey | undefined;
}

/** The published key that signs next. */
export const nextAfter = (keys: readonly ManagedKey[], nowMs: number): ManagedKey | undefined =>
  keys.find(({ activatesAtMs }) => activatesAtMs > nowMs);
