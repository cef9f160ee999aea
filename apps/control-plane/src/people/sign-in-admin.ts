import {
  reasonRequest,
  type SignInStatus,
  signInPage,
  signInRead,
  signInsEnd,
  signInsEnded,
  signInsQuery,
} from "@svc/core";
import { endSignIn, endSignIns } from "../commands/sign-ins.ts";
import { ApiError } from "../http/api-error.ts";
import { type App, routesOf } from "../http/routes.ts";
import { withTimes } from "../http/times.ts";
import type { SignIn } from "../ports/sign-ins.ts";
import type { PeopleDeps } from "./deps.ts";

/** Reading and ending people's sign-ins. Without a provider there are none. */
export function signInAdminRoutes(app: App, deps: PeopleDeps): void {
  const { route, list } = routesOf(app, deps, "Sign-ins");
  list("GET /v1/sign-ins", {
    access: "audit",
    summary: "List people's sign-ins, newest first: those that run, and those of the last day.",
    query: signInsQuery,
    page: signInPage,
    rows: ({ query: { userSub: subject }, after, limit }) => deps.signIns.page({ subject, after, limit }),
    item: (signIn: SignIn) => toRead(signIn, deps),
    position: ({ signInId }) => signInId,
  });

  route("POST /v1/sign-ins/end", {
    access: "admin",
    summary: "End every sign-in of a person, at once in every process.",
    body: signInsEnd,
    reply: { description: "How many were ended.", schema: signInsEnded },
    errors: ["database_unavailable"],
    handle: async ({ caller, body: { userSub: subject, reason = null } }) => {
      const ended = await endSignIns(deps, { subject }, { by: caller.label, reason });
      if (ended > 0) deps.events.administered("sign_in_ended");
      return { ended };
    },
  });

  route("POST /v1/sign-ins/{sign_in_id}/end", {
    access: "admin",
    summary: "End a sign-in, at once in every process; one that is over stays as it is.",
    body: reasonRequest,
    bodyOptional: true,
    reply: { description: "The sign-in at this moment.", schema: signInRead },
    errors: ["sign_in_not_found", "database_unavailable"],
    handle: async ({ caller, params: { signInId }, body: { reason = null } }) => {
      const found = await endSignIn(deps, signInId, { by: caller.label, reason });
      if (found === undefined) throw new ApiError("sign_in_not_found", "There is no such sign-in.");
      if (found.ended) deps.events.administered("sign_in_ended");
      return toRead(found.signIn, deps);
    },
  });
}

function toRead(signIn: SignIn, { people, clock }: PeopleDeps) {
  const {
    signInId,
    subject: userSub,
    issuer,
    name,
    email,
    groups,
    begunAtMs,
    expiresAtMs,
    endedAtMs,
    endedBy,
  } = signIn;
  const roles = people?.rolesOf(groups) ?? [];
  const status = statusAt(signIn, clock.nowMs());
  return {
    ...withTimes({ begunAtMs, expiresAtMs, endedAtMs }),
    signInId,
    status,
    userSub,
    issuer,
    name,
    email,
    roles,
    endedBy,
  };
}

function statusAt({ endedAtMs, expiresAtMs }: SignIn, nowMs: number): SignInStatus {
  if (endedAtMs !== null) return "ended";
  return expiresAtMs <= nowMs ? "expired" : "active";
}
