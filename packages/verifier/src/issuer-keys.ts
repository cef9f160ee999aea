import { importJwks, type KeyLookup, type VerificationKey } from "@svc/tokens";
import { getJson } from "./get-json.ts";
import type { VerifierPorts } from "./ports.ts";
import { type Refresher, startRefreshing } from "./refresher.ts";

/** The issuer's public keys. */
export interface IssuerKeys extends Omit<Refresher, "refresh"> {
  /** Rejects for an invalid fixed key set. */
  readonly ready: Promise<void>;
  /** Empty once the last valid set is older than its freshness. */
  readonly lookup: KeyLookup;
  /** Reads the keys again for an unknown one; false where that was done recently or changes nothing. */
  refetch(): Promise<boolean>;
}

/** A key set given as a document. */
export function fixedKeys(document: unknown): IssuerKeys {
  let keys: KeyLookup = new Map();
  const ready = importJwks(document).then((imported) => {
    keys = imported;
  });
  // Without a listener the rejection would end the process.
  ready.catch(() => undefined);
  return {
    ready,
    underWay: () => undefined,
    lookup: { get: (kid) => keys.get(kid) },
    refetch: async () => false,
    stop: () => undefined,
  };
}

export interface RemoteKeysOptions {
  readonly url: string;
  readonly freshnessSeconds: number;
  readonly onFailure: (error: unknown) => void;
}

/** Unknown `kid`s cause at most one request in this time. */
const cooldownMs = 30_000;
const maxIntervalMs = 300_000;

/** A key set at a URL: refreshed three times within its freshness; the last valid one is used until that ends. */
export function remoteKeys(ports: VerifierPorts, { url, freshnessSeconds, onFailure }: RemoteKeysOptions): IssuerKeys {
  let keys: ReadonlyMap<string, VerificationKey> = new Map();
  let freshUntilMs = Number.NEGATIVE_INFINITY;
  let lastRequestMs = Number.NEGATIVE_INFINITY;

  const { ready, refresh, underWay, stop } = startRefreshing(ports, {
    intervalMs: Math.min(maxIntervalMs, (freshnessSeconds * 1000) / 3),
    onFailure,
    attempt: async () => {
      const requestedMs = ports.monotonicMs();
      lastRequestMs = requestedMs;
      keys = keepUnchanged(keys, await importJwks(await getJson(ports, url)));
      freshUntilMs = requestedMs + freshnessSeconds * 1000;
    },
  });

  return {
    ready,
    underWay,
    stop,
    lookup: { get: (kid) => (ports.monotonicMs() <= freshUntilMs ? keys.get(kid) : undefined) },
    refetch: async () => {
      const isRecent = ports.monotonicMs() - lastRequestMs < cooldownMs;
      if (isRecent && !underWay()) return false;
      await refresh();
      return true;
    },
  };
}

/** An unchanged key stays the same object: the cache of verified signatures refers to it. */
const keepUnchanged = (
  old: ReadonlyMap<string, VerificationKey>,
  fresh: ReadonlyMap<string, VerificationKey>,
): ReadonlyMap<string, VerificationKey> =>
  new Map(
    Array.from(fresh, ([kid, key]) => {
      const before = old.get(kid);
      return [kid, before && JSON.stringify(before.publicJwk) === JSON.stringify(key.publicJwk) ? before : key];
    }),
  );
