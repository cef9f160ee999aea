import type { ClaimOutcome, EvictionPolicy, GuardClaim, ReplayGuard } from "../ports/replay-guard.ts";
import { GuardUnavailable } from "../ports/replay-guard.ts";
import type { WitnessMemory } from "../ports/witness.ts";
import type { StoreAddress } from "./address.ts";
import { answering } from "./answering.ts";
import { connectStore } from "./store.ts";
import { redisWitness } from "./witness.ts";

const prefix = "svc:guard:";

export interface RedisGuardOptions {
  readonly address: StoreAddress;
  /** Every call answers or throws within this. */
  readonly deadlineMs?: number;
  /** Told once per outage, when answers stop. */
  readonly onUnavailable?: (cause: unknown) => void;
}

/**
 * The replay guard on a Redis 7 or Valkey server, behind Sentinel, or on a cluster, and beside it what must outlive the
 * database. Connects in the background; until then, and whenever the store is silent, calls throw GuardUnavailable.
 */
export function redisGuard(options: RedisGuardOptions): ReplayGuard & WitnessMemory {
  const { address, deadlineMs = 150, onUnavailable = () => {} } = options;
  const store = answering(() => connectStore(address), { deadlineMs, onUnavailable });
  return {
    ...redisWitness(store),
    async claim({ key, actionId, ttlSeconds }): Promise<ClaimOutcome> {
      const earlier = await store.ask((now) => now.setIfAbsent(prefix + key, actionId, Math.ceil(ttlSeconds * 1000)));
      if (earlier === null) return "claimed";
      return earlier === actionId ? "same_action" : "other_action";
    },
    async release({ key, actionId }: GuardClaim): Promise<void> {
      await store.ask((now) => now.deleteIfEqual(prefix + key, actionId));
    },
    async ping(): Promise<void> {
      await store.ask((now) => now.setIfAbsent(`${prefix}ping`, "", 1));
    },
    async evictionPolicy(): Promise<EvictionPolicy> {
      try {
        return evictionPolicyOf(await store.ask((now) => now.memoryInfo()));
      } catch (cause) {
        if (cause instanceof GuardUnavailable) return "unknown";
        throw cause;
      }
    },
    connected: store.connected,
    close: async () => store.close(),
  };
}

/** Of several servers the worst: an entry may live on any of them. */
function evictionPolicyOf(infos: readonly string[]): EvictionPolicy {
  const policies = infos.map((info) => /^maxmemory_policy:(\S+)/m.exec(info)?.[1]);
  if (policies.some((policy) => policy !== undefined && policy !== "noeviction")) return "evicts";
  return policies.length === 0 || policies.includes(undefined) ? "unknown" : "keeps";
}
