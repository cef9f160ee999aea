import type { RateBudget, RateLimit, RateLimits } from "../ports/rate-limit.ts";
import { parseStoreAddress } from "../redis/address.ts";
import type { Config } from "./config.ts";

export interface OpenRateLimits extends RateLimits {
  close(): void;
}

/** Counted in the cache store where there is one, else in this process; nothing is loaded or opened where nothing is limited. */
export async function openRateLimits(
  { redisUrl, rateLimits }: Pick<Config, "redisUrl" | "rateLimits">,
  onUnavailable: (cause: unknown) => void,
): Promise<OpenRateLimits> {
  const { perBearer, perSession } = rateLimits;
  if ((perBearer ?? perSession) === undefined) return { perBearer: undefined, perSession: undefined, close: () => {} };
  if (redisUrl === undefined) {
    const { embeddedRateLimit } = await import("../redis/local-rate-limit.ts");
    return { ...each(rateLimits, (_kind, budget) => embeddedRateLimit(budget)), close: () => {} };
  }
  const { redisRateLimits } = await import("../redis/rate-limit.ts");
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
