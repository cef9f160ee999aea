import type { HighWaterMarkStore } from "../ports/high-water-mark.ts";
import type { ClaimOutcome, EvictionPolicy, GuardClaim, ReplayGuard } from "../ports/replay-guard.ts";
import { GuardUnavailable } from "../ports/replay-guard.ts";
import type { StoreAddress } from "./address.ts";
import { answering } from "./answering.ts";
import { redisHighWaterMark } from "./high-water-mark.ts";
import { connectStore } from "./store.ts";

const prefix = "svc:guard:";

export interface RedisGuardOptions {
  readonly address: StoreAddress;
  /** Of every call. Default 150. */
  readonly deadlineMs?: number;
  /** Called once per outage. */
  readonly onUnavailable?: (cause: unknown) => void;
}

/**
 * The replay guard and the high water mark on Redis 7 or Valkey: one server, Sentinel, or a cluster. Connects in the
 * background. Calls throw GuardUnavailable until then, and while the store does not answer.
 */
export function redisGuard(options: RedisGuardOptions): ReplayGuard & HighWaterMarkStore {
  const { address, deadlineMs = 150, onUnavailable = () => {} } = options;
  const store = answering(() => connectStore(address), { deadlineMs, onUnavailable });
  return {
    ...redisHighWaterMark(store),
    async claim({ key, actionId, ttlSeconds }): Promise<ClaimOutcome> {
      const earlier = await store.ask((redis) =>
        redis.setIfAbsent(prefix + key, actionId, Math.ceil(ttlSeconds * 1000)),
      );
      if (earlier === null) return "claimed";
      return earlier === actionId ? "same_action" : "other_action";
    },
    async release({ key, actionId }: GuardClaim): Promise<void> {
      await store.ask((redis) => redis.deleteIfEqual(prefix + key, actionId));
    },
    async ping(): Promise<void> {
      await store.ask((redis) => redis.setIfAbsent(`${prefix}ping`, "", 1));
    },
    async evictionPolicy(): Promise<EvictionPolicy> {
      try {
        return evictionPolicyOf(await store.ask((redis) => redis.memoryInfo()));
      } catch (cause) {
        if (cause instanceof GuardUnavailable) return "unknown";
        throw cause;
      }
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
