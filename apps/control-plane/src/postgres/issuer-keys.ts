import { setTimeout as delay } from "node:timers/promises";
import type { IssuerKeys, KeySet } from "../ports/issuer-keys.ts";
import { singleFlight } from "../ports/single-flight.ts";
import { type KeySetSettings, keySetReader } from "./key-set.ts";
import { ensureKey, keyMaker } from "./key-store.ts";

const refreshEveryMs = 30_000;
const recheckEveryMs = 100;
const publishedForMs = 1_000;

/**
 * The issuer's keys, which all processes share through the database. Every change replaces the denial epoch, so reading
 * the keys of an epoch makes a removed key fail, and a new one sign, with the next call of any process.
 */
export async function issuerKeys(settings: KeySetSettings): Promise<IssuerKeys & { close(): void }> {
  const { pool, clock, encryptionKey, fixedKey } = settings;
  if (fixedKey === undefined) await ensureKey(pool, clock, keyMaker(encryptionKey));
  const load = keySetReader(settings);
  let current = await load();
  let loadedAtMs = performance.now();
  let isLoading = false;
  let rechecking: Promise<KeySet> | undefined;

  const refresh = singleFlight(async (): Promise<KeySet> => {
    isLoading = true;
    loadedAtMs = performance.now();
    try {
      current = await load();
      return current;
    } finally {
      isLoading = false;
    }
  });

  /** One for all callers before its read starts. Later callers share the next one. */
  const recheckOnce = async (): Promise<KeySet> => {
    await delay(Math.max(0, loadedAtMs + recheckEveryMs - performance.now()));
    while (isLoading) await refresh().catch(() => {});
    rechecking = undefined;
    return refresh();
  };
  const recheck = (): Promise<KeySet> => {
    rechecking ??= recheckOnce();
    return rechecking;
  };

  // After a failed refresh the known keys serve on: every decision compares epochs with the database.
  const timer = setInterval(() => void refresh().catch(() => {}), refreshEveryMs).unref();
  return {
    current: () => current,
    asOf: async (epoch) => {
      // A load that is under way may have begun before the change. The second load has not.
      for (let attempt = 0; current.epoch !== epoch && attempt < 2; attempt++) await refresh();
      return current;
    },
    recheck,
    latest: async () =>
      performance.now() - loadedAtMs < publishedForMs ? current : await recheck().catch(() => current),
    close: () => clearInterval(timer),
  };
}
