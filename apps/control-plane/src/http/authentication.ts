import { isOfKind, type SubjectToken } from "../commands/hop/subject-token.ts";
import { type Bearer, type Bearers, bearerToken, unauthorized } from "./bearers.ts";
import type { Access } from "./endpoint.ts";
import { type CallerLimits, rateLimited } from "./rate-limit.ts";

/** Authentication and rate limits, applied before a handler. */
export interface RouteAuth {
  readonly bearers: Bearers;
  readonly verifySubject: (token: string) => Promise<SubjectToken | undefined>;
  readonly limits: CallerLimits;
}

/** The caller, counted against its rate. @throws {ApiError} `unauthorized`, `rate_limited` */
export async function requireCaller(auth: RouteAuth, access: Access, authorization: string | null) {
  const caller = await callerOf(auth, access, authorization);
  const waitSeconds = caller === undefined ? 0 : await waitOf(auth.limits, caller);
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
    default:
      return bearers(access, authorization);
  }
}

const waitOf = (limits: CallerLimits, caller: Bearer | SubjectToken): Promise<number> =>
  "token" in caller ? limits.session(caller) : limits.bearer(caller);
