import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import type { RateBudget, RateLimit } from "../ports/rate-limit.ts";

/** Counts in this process alone. */
export const embeddedRateLimit = (budget: RateBudget): RateLimit => rateLimitOf(memoryLimiter(budget));

export const memoryLimiter = ({ calls, seconds }: RateBudget): RateLimiterAbstract =>
  new RateLimiterMemory({ points: calls, duration: seconds });

/** The library rejects with the state of a used-up budget. */
export const rateLimitOf = (limiter: Pick<RateLimiterAbstract, "consume">): RateLimit => ({
  async take(key) {
    try {
      await limiter.consume(key);
      return 0;
    } catch (used) {
      if (!(used instanceof RateLimiterRes)) throw used;
      return Math.max(1, Math.ceil(used.msBeforeNext / 1000));
    }
  },
});
