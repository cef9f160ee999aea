import { budgets } from "../budgets.ts";
import { type EvictionPolicy, GuardUnavailable, type ReplayGuard } from "../ports/replay-guard.ts";
import type { HighWaterMarkStore } from "../ports/restore-watch.ts";
import { answeringStore, type StoreOptions } from "./answering.ts";

const prefix = "svc:guard:";
const releaseScript = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/** One key per deployment, so that each command concerns one node of a cluster. Scripts read from the primary. */
const markKey = (deployment: string): string => `svc:witness:${deployment}`;
const readScript = "return redis.call('GET', KEYS[1])";

/** One node of a cluster refuses the keys of the others: of three nodes, one in 43 million such probes passes. */
const probedKeys = 16;

/** Numbers of scripts are doubles: exact up to 2^53. Without expiry, since a restored backup may be of any age. */
const keepScript =
  "if tonumber(ARGV[1]) > tonumber(redis.call('GET', KEYS[1]) or '0') then redis.call('SET', KEYS[1], ARGV[1]) end " +
  "return 0";

/** On Redis 7 or Valkey: one server, Sentinel or a cluster. Throws GuardUnavailable until it is connected. */
export function redisGuard(options: StoreOptions): ReplayGuard & HighWaterMarkStore {
  const store = answeringStore(budgets.replayGuard, options);
  const evaluate = (script: string, key: string, ...values: string[]): Promise<unknown> =>
    store.ask((redis) => redis.evaluate(script, { keys: [key], arguments: values }));
  return {
    async claim({ key, actionId, ttlSeconds }) {
      const earlier = await store.ask((redis) =>
        redis.setIfAbsent(prefix + key, actionId, Math.ceil(ttlSeconds * 1000)),
      );
      if (earlier === null) return "claimed";
      return earlier === actionId ? "same_action" : "other_action";
    },
    async release({ key, actionId }) {
      await evaluate(releaseScript, prefix + key, actionId);
    },
    async ping() {
      await Promise.all(
        Array.from({ length: probedKeys }, async () => {
          const key = `${prefix}ping:${crypto.randomUUID()}`;
          await store.ask((redis) => redis.setIfAbsent(key, "ping", 1_000));
          await evaluate(releaseScript, key, "ping");
        }),
      );
    },
    async evictionPolicy() {
      try {
        return evictionPolicyOf((await store.askIfAllowed((redis) => redis.memoryInfo())) ?? []);
      } catch (cause) {
        if (cause instanceof GuardUnavailable) return "unknown";
        throw cause;
      }
    },
    async seen(deployment) {
      const kept = await evaluate(readScript, markKey(deployment));
      return BigInt(kept === null ? 0 : String(kept));
    },
    async keep({ deployment, count }) {
      await evaluate(keepScript, markKey(deployment), String(count));
    },
    connected: store.connected,
    close: async () => store.close(),
  };
}

/** The worst of several servers, since an entry may be on any of them. */
function evictionPolicyOf(infos: readonly string[]): EvictionPolicy {
  const policies = infos.map((info) => /^maxmemory_policy:(\S+)/m.exec(info)?.[1]);
  if (policies.some((policy) => policy !== undefined && policy !== "noeviction")) return "evicts";
  return policies.length === 0 || policies.includes(undefined) ? "unknown" : "keeps";
}
