import { importJwks, type KeyLookup, type VerificationKey } from "@svc/tokens";
import { getJson } from "./get-json.ts";
import type { VerifierPorts } from "./ports.ts";
import { startRefreshing } from "./refresher.ts";

/** The issuer's public keys, as far as they are known and fresh. */
export interface IssuerKeys {
  /** Resolves when the first attempt to have keys is over. Rejects for a fixed key set that is none. */
  readonly ready: Promise<void>;
  /** The refresh under way. */
  underWay(): Promise<void> | undefined;
  /** Holds nothing once the last good set is older than its freshness. */
  readonly lookup: KeyLookup;
  /** Looks for a key not known so far; false where that was done a moment ago or would change nothing. */
  refetch(): Promise<boolean>;
  stop(): void;
}

/** A key set given as a document. */
export function fixedKeys(document: unknown): IssuerKeys {
  let keys: KeyLookup = new Map();
  const ready = importJwks(document).then((imported) => {
    keys = imported;
  });
  // Whoever awaits it sees the rejection; unawaited, it must not end the process.
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

/** Unknown `kid`s cost the issuer at most one request in this time. */
const cooldownMs = 30_000;
const longestIntervalMs = 300_000;

/** A key set behind a URL: refreshed three times within its freshness, the last good one kept until that ends. */
export function remoteKeys(ports: VerifierPorts, { url, freshnessSeconds, onFailure }: RemoteKeysOptions): IssuerKeys {
  let keys: ReadonlyMap<string, VerificationKey> = new Map();
  let freshUntilMs = Number.NEGATIVE_INFINITY;
  let lastAskedMs = Number.NEGATIVE_INFINITY;

  const refresher = startRefreshing(ports, {
    intervalMs: Math.min(longestIntervalMs, (freshnessSeconds * 1000) / 3),
    onFailure,
    attempt: async () => {
      const askedMs = ports.monotonicMs();
      lastAskedMs = askedMs;
      keys = keepingObjects(keys, await importJwks(await getJson(ports, url)));
      freshUntilMs = askedMs + freshnessSeconds * 1000;
    },
  });

  return {
    ready: refresher.refresh(),
    underWay: refresher.underWay,
    lookup: { get: (kid) => (ports.monotonicMs() <= freshUntilMs ? keys.get(kid) : undefined) },
    refetch: async () => {
      const isRecent = ports.monotonicMs() - lastAskedMs < cooldownMs;
      if (isRecent && !refresher.underWay()) return false;
      await refresher.refresh();
      return true;
    },
    stop: refresher.stop,
  };
}

/** An unchanged key stays the same object, so that what it verified is still remembered. */
const keepingObjects = (
  old: ReadonlyMap<string, VerificationKey>,
  fresh: ReadonlyMap<string, VerificationKey>,
): ReadonlyMap<string, VerificationKey> =>
  new Map(
    Array.from(fresh, ([kid, key]) => {
      const before = old.get(kid);
      return [kid, before && JSON.stringify(before.publicJwk) === JSON.stringify(key.publicJwk) ? before : key];
    }),
  );
