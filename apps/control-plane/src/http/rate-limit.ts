import type { RateLimits } from "../ports/rate-limit.ts";
import { ApiError } from "./api-error.ts";
import type { Bearer } from "./bearers.ts";

/**
 * Who has called too often (contract: Error envelope, `rate_limited`). Nothing is counted before the credential is
 * known to be good, so that no stranger can use up somebody's budget.
 */
export interface CallerLimits {
  /** The seconds that the holder of a plane's bearer has to wait; 0 where it may go on. */
  bearer(caller: Bearer): Promise<number>;
  /** The same of the session that a hop token belongs to; a token that does not verify is nobody's. */
  session(token: string): Promise<number>;
}

/** @param sessionOf the session of a hop token that verifies */
export const callerLimits = (
  { perBearer, perSession }: RateLimits,
  sessionOf: (token: string) => Promise<string | undefined>,
): CallerLimits => ({
  bearer: async ({ id }) => (perBearer === undefined ? 0 : perBearer.take(id)),
  async session(token) {
    const sessionId = perSession && (await sessionOf(token));
    return perSession === undefined || sessionId === undefined ? 0 : perSession.take(sessionId);
  },
});

/** RFC 6585 section 4. */
export const rateLimited = (waitSeconds: number): ApiError =>
  new ApiError("rate_limited", "Too many calls: try again later.", { headers: retryAfter(waitSeconds) });

/** RFC 9110 section 10.2.3. */
export const retryAfter = (waitSeconds: number) => ({ "Retry-After": String(waitSeconds) });
