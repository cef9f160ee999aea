import type { ReplayGuard } from "../ports/replay-guard.ts";
import type { WitnessMemory } from "../ports/witness.ts";
import { embeddedWitness } from "./witness.ts";

interface Entry {
  readonly actionId: string;
  readonly expiresAtMs: number;
}

export interface EmbeddedGuard extends ReplayGuard, WitnessMemory {
  /** Entries held in memory; those that ended count for a minute at most. */
  size(): number;
}

/** Entries of one minute are forgotten together, so that forgetting costs nothing per claim. */
const bucketMs = 60_000;

/**
 * The replay guard of a single process: no other one sees its entries, and a restart forgets them. The database decides
 * all the same.
 * @param monotonicMs a clock that no step of the wall clock moves
 */
export function embeddedGuard(monotonicMs: () => number = () => performance.now()): EmbeddedGuard {
  const entries = new Map<string, Entry>();
  const expiring = new Map<number, Set<string>>();
  let sweptBucket = Math.floor(monotonicMs() / bucketMs);

  const live = (key: string, nowMs: number): Entry | undefined => {
    const entry = entries.get(key);
    return entry !== undefined && entry.expiresAtMs > nowMs ? entry : undefined;
  };

  const sweep = (nowMs: number): void => {
    for (; sweptBucket < Math.floor(nowMs / bucketMs); sweptBucket += 1) {
      for (const key of expiring.get(sweptBucket) ?? []) if (live(key, nowMs) === undefined) entries.delete(key);
      expiring.delete(sweptBucket);
    }
  };

  const remember = (key: string, entry: Entry): void => {
    entries.set(key, entry);
    const bucket = Math.floor(entry.expiresAtMs / bucketMs);
    const keys = expiring.get(bucket) ?? new Set();
    expiring.set(bucket, keys.add(key));
  };

  return {
    ...embeddedWitness(),
    async claim({ key, actionId, ttlSeconds }) {
      const nowMs = monotonicMs();
      sweep(nowMs);
      const earlier = live(key, nowMs);
      if (earlier !== undefined) return earlier.actionId === actionId ? "same_action" : "other_action";
      remember(key, { actionId, expiresAtMs: nowMs + ttlSeconds * 1000 });
      return "claimed";
    },
    async release({ key, actionId }) {
      if (entries.get(key)?.actionId === actionId) entries.delete(key);
    },
    size: () => entries.size,
    async ping() {},
    async evictionPolicy() {
      return "keeps";
    },
    async connected() {},
    async close() {},
  };
}
