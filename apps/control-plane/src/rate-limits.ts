import type { Config } from "./config.ts";
import { embeddedRateLimit } from "./embedded/rate-limit.ts";
import type { RateBudget, RateLimit, RateLimits } from "./ports/rate-limit.ts";
import { parseStoreAddress } from "./redis/address.ts";
import { redisRateLimits } from "./redis/rate-limit.ts";

export interface OpenRateLimits extends RateLimits {
  close(): void;
}

/** Counted in the cache store where there is one, else in this process; nothing is opened where nothing is limited. */
export function openRateLimits(
  { redisUrl, rateLimits }: Pick<Config, "redisUrl" | "rateLimits">,
  onUnavailable: (cause: unknown) => void,
): OpenRateLimits {
  const { perBearer, perSession } = rateLimits;
  if (redisUrl === undefined || (perBearer ?? perSession) === undefined) {
    return { ...each(rateLimits, (_kind, budget) => embeddedRateLimit(budget)), close: () => {} };
  }
  const store = redisRateLimits({ address: parseStoreAddress(redisUrl), onUnavailable });
  return { ...each(rateLimits, store.limit), close: store.close };
}

const each = (
  { perBearer, perSession }: Config["rateLimits"],
  limit: (kind: string, budget: RateBudget) => RateLimit,
): RateLimits => ({
  perBearer: perBearer && limit("bearer", perBearer),
  perSession: perSession && limit("session", perSession),
});
