import { type HopTokenKind, isOfKind, type SubjectToken } from "../commands/hop/hop-tokens.ts";
import type { RateLimits } from "../ports/rate-limit.ts";
import { ApiError } from "./api-error.ts";
import { type Bearer, type Bearers, bearerToken, type Plane, unauthorized } from "./bearers.ts";

/** A plane's bearer, or that of either of two planes; a hop token; the admin's bearer, or a credential in the body, which the route reads; or none. */
export type Access = Plane | HopTokenKind | "identity_or_enforcement" | "admin_if_sent" | "none";

/** Authentication and rate limits, applied before a handler. */
export interface RouteAuth {
  readonly bearers: Bearers;
  readonly verifySubject: (token: string) => Promise<SubjectToken | undefined>;
  readonly limits: ReturnType<typeof callerLimits>;
}

/** The caller, counted against its rate. @throws {ApiError} `unauthorized`, `rate_limited` */
export async function requireCaller(auth: RouteAuth, access: Access, authorization: string | null) {
  const caller = await callerOf(auth, access, authorization);
  if (caller === undefined) return undefined;
  const waitSeconds = await ("token" in caller ? auth.limits.session(caller) : auth.limits.bearer(caller));
  if (waitSeconds > 0) throw rateLimited(waitSeconds);
  return caller;
}

async function callerOf({ bearers, verifySubject }: RouteAuth, access: Access, authorization: string | null) {
  switch (access) {
    case "none":
      return undefined;
    case "admin_if_sent":
      return authorization === null ? undefined : bearers("admin", authorization);
    case "current_hop":
    case "narrowed": {
      const subject = await verifySubject(bearerToken(authorization));
      if (subject === undefined || !isOfKind(subject, access)) throw unauthorized();
      return subject;
    }
    case "identity_or_enforcement":
      return bearers("identity", authorization, "enforcement");
    default:
      return bearers(access, authorization);
  }
}

/**
 * Seconds that a caller has to wait; 0 within its budget (docs/reference/conventions.md#rate-limits). Counts good
 * credentials only, so that a stranger cannot use up a caller's budget. A token counts for its session.
 */
export const callerLimits = ({ perBearer, perSession }: RateLimits) => ({
  bearer: async ({ id }: Pick<Bearer, "id">): Promise<number> => perBearer?.take(id) ?? 0,
  session: async (subject: SubjectToken): Promise<number> =>
    ("claims" in subject ? perSession?.take(subject.claims.sessionId) : undefined) ?? 0,
});

/** RFC 6585 section 4. */
export const rateLimited = (waitSeconds: number): ApiError =>
  new ApiError("rate_limited", "Too many calls: try again later.", { headers: retryAfter(waitSeconds) });

/** RFC 9110 section 10.2.3. */
export const retryAfter = (waitSeconds: number) => ({ "Retry-After": String(waitSeconds) });
