import { RateLimiterRedis } from "rate-limiter-flexible";
import type { RateBudget, RateLimit } from "../ports/rate-limit.ts";
import type { StoreAddress } from "./address.ts";
import { answering } from "./answering.ts";
import { memoryLimiter, rateLimitOf } from "./local-rate-limit.ts";
import { connectStore } from "./store.ts";

export interface RedisRateLimitsOptions {
  readonly address: StoreAddress;
  /** Of a count, within the time that a decision has. */
  readonly deadlineMs?: number;
  /** Told once per outage, when answers stop. */
  readonly onUnavailable?: (cause: unknown) => void;
}

export interface RedisRateLimits {
  limit(kind: string, budget: RateBudget): RateLimit;
  close(): void;
}

/**
 * Counts for every process on the same store, over a connection of their own, so that counting never stands before the
 * replay guard. While the store is silent each process counts for itself: a limit protects from too many calls, and
 * refusing all of them because they cannot be counted would be the very outage it is there to prevent. What needs the
 * store to be safe is refused by the replay guard anyway.
 */
export function redisRateLimits(options: RedisRateLimitsOptions): RedisRateLimits {
  const { address, deadlineMs = 100, onUnavailable = () => {} } = options;
  const store = answering(() => connectStore(address), { deadlineMs, onUnavailable });
  /** The one command that the library asks of its client. */
  const storeClient = {
    eval: (script: string, given: { keys: string[]; arguments: string[] }) =>
      store.ask((now) => now.evaluate(script, given)),
  };
  return {
    limit: (kind, budget) =>
      rateLimitOf(
        new RateLimiterRedis({
          storeClient,
          useRedisPackage: true,
          keyPrefix: `svc:rate:${kind}`,
          points: budget.calls,
          duration: budget.seconds,
          // A caller over its budget costs the store nothing more until its time is over.
          inMemoryBlockOnConsumed: budget.calls,
          insuranceLimiter: memoryLimiter(budget),
        }),
      ),
    close: () => store.close(),
  };
}
