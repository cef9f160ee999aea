import type { RateBudget, RateLimit, RateLimits } from "../ports/rate-limit.ts";
import { parseStoreAddress } from "../redis/address.ts";
import type { Config } from "./config.ts";

/** Counts in the cache store, or in this process without one. Loads and opens nothing without a limit. */
export async function openRateLimits(
  { redisUrl, rateLimits }: Pick<Config, "redisUrl" | "rateLimits">,
  onUnavailable: (cause: unknown) => void,
): Promise<RateLimits & { close(): void }> {
  const { perBearer, perSession } = rateLimits;
  const limitsBy = (limit: (kind: string, budget: RateBudget) => RateLimit): RateLimits => ({
    perBearer: perBearer && limit("bearer", perBearer),
    perSession: perSession && limit("session", perSession),
  });
  if ((perBearer ?? perSession) === undefined) return { perBearer: undefined, perSession: undefined, close: () => {} };
  if (redisUrl === undefined) {
    const { embeddedRateLimit } = await import("../redis/local-rate-limit.ts");
    return { ...limitsBy((_kind, budget) => embeddedRateLimit(budget)), close: () => {} };
  }
  const { redisRateLimits } = await import("../redis/rate-limit.ts");
  const store = redisRateLimits({ address: parseStoreAddress(redisUrl), onUnavailable });
  return { ...limitsBy(store.limit), close: store.close };
}
