import { setTimeout as delay } from "node:timers/promises";
import type { IssuerKeys, KeySet } from "../ports/issuer-keys.ts";
import { type KeySetSettings, keySetReader } from "./key-set.ts";
import { ensureKey, keyMaker } from "./key-store.ts";

export type IssuerKeySettings = KeySetSettings;

const refreshEveryMs = 30_000;
const recheckEveryMs = 100;
const publishedForMs = 1_000;

/**
 * The issuer's keys, shared by every process through the database. Every change of them replaces the denial epoch, so
 * that reading them as of an epoch is how a removed key stops, and a new one signs, with the next call at any process.
 */
export async function issuerKeys(settings: IssuerKeySettings): Promise<IssuerKeys & { close(): void }> {
  const { sql, clock, deadlineMs, encryptionKey, fixedKey } = settings;
  if (fixedKey === undefined) await ensureKey({ sql, clock, deadlineMs, makeKey: keyMaker(encryptionKey) });
  const load = keySetReader(settings);
  let current = await load();
  let loadedAtMs = performance.now();
  let loading: Promise<KeySet> | undefined;
  let rechecking: Promise<KeySet> | undefined;

  const refresh = (): Promise<KeySet> => {
    if (loading !== undefined) return loading;
    loadedAtMs = performance.now();
    loading = load()
      .then((keys) => {
        current = keys;
        return keys;
      })
      .finally(() => {
        loading = undefined;
      });
    return loading;
  };

  /** One for all who ask before it starts to read; whoever asks later waits for the next. */
  const recheckOnce = async (): Promise<KeySet> => {
    await delay(Math.max(0, loadedAtMs + recheckEveryMs - performance.now()));
    while (loading !== undefined) await loading.catch(() => {});
    rechecking = undefined;
    return refresh();
  };
  const recheck = (): Promise<KeySet> => {
    rechecking ??= recheckOnce();
    return rechecking;
  };

  // A failed refresh keeps what is known: every decision compares epochs with the database anyway.
  const timer = setInterval(() => void refresh().catch(() => {}), refreshEveryMs).unref();
  return {
    current: () => current,
    asOf: async (epoch) => {
      // A load that began before the change may still be on its way; the second one cannot be.
      for (let attempt = 0; current.epoch !== epoch && attempt < 2; attempt++) await refresh();
      return current;
    },
    recheck,
    latest: async () =>
      performance.now() - loadedAtMs < publishedForMs ? current : await recheck().catch(() => current),
    close: () => clearInterval(timer),
  };
}
