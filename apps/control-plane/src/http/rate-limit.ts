import type { SubjectToken } from "../commands/hop/subject-token.ts";
import type { RateLimits } from "../ports/rate-limit.ts";
import { ApiError } from "./api-error.ts";
import type { Bearer } from "./bearers.ts";

/**
 * Seconds that a caller has to wait; 0 within its budget (docs/reference/conventions.md#rate-limits). Counts good
 * credentials only, so that a stranger cannot use up a caller's budget.
 */
export interface CallerLimits {
  bearer(caller: Bearer): Promise<number>;
  /** Counts for the token's session. */
  session(subject: SubjectToken): Promise<number>;
}

export const callerLimits = ({ perBearer, perSession }: RateLimits): CallerLimits => ({
  bearer: async ({ id }) => perBearer?.take(id) ?? 0,
  session: async (subject) => ("claims" in subject ? perSession?.take(subject.claims.sessionId) : undefined) ?? 0,
});

/** RFC 6585 section 4. */
export const rateLimited = (waitSeconds: number): ApiError =>
  new ApiError("rate_limited", "Too many calls: try again later.", { headers: retryAfter(waitSeconds) });

/** RFC 9110 section 10.2.3. */
export const retryAfter = (waitSeconds: number) => ({ "Retry-After": String(waitSeconds) });
