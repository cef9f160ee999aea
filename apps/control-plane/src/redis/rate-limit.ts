import { RateLimiterRedis } from "rate-limiter-flexible";
import { budgets } from "../budgets.ts";
import type { RateBudget, RateLimit } from "../ports/rate-limit.ts";
import { answeringStore, type StoreOptions } from "./answering.ts";
import { memoryLimiter, rateLimitOf } from "./local-rate-limit.ts";

/**
 * Counts for all processes on the same store, over an own connection, so that counting never delays the replay guard.
 * Without the store each process counts alone: to refuse all calls would be the outage that a limit prevents.
 */
export function redisRateLimits(options: StoreOptions) {
  const store = answeringStore(budgets.rateLimit, options);
  /** The one command that the library sends. */
  const storeClient = {
    eval: (script: string, given: { keys: string[]; arguments: string[] }) =>
      store.ask((redis) => redis.evaluate(script, given)),
  };
  return {
    limit: (kind: string, budget: RateBudget): RateLimit =>
      rateLimitOf(
        new RateLimiterRedis({
          storeClient,
          useRedisPackage: true,
          keyPrefix: `svc:rate:${kind}`,
          points: budget.calls,
          duration: budget.seconds,
          // A caller over its budget costs the store no more commands.
          inMemoryBlockOnConsumed: budget.calls,
          insuranceLimiter: memoryLimiter(budget),
        }),
      ),
    close: () => store.close(),
  };
}
