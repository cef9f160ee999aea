import {
  type AuthorizeResponse,
  authorizeRequest,
  authorizeResponse,
  type CamelCased,
  pagedQuery,
  renewRequest,
  renewResponse,
  sessionTargetPage,
} from "@svc/core";
import { etag } from "hono/etag";
import { type Authorized, authorize } from "../../commands/hop/authorize.ts";
import { renew } from "../../commands/hop/renew.ts";
import { sessionTargets } from "../../commands/hop/session-targets.ts";
import { ApiError, invalidRequest, requireKind } from "../../http/api-error.ts";
import { type App, routesOf } from "../../http/routes.ts";
import { iso } from "../../http/times.ts";
import { consentUrlOf } from "../../people/consent-link.ts";
import type { Deps } from "../deps.ts";
import { actorUnproven, hopEndpoint, unavailableAs } from "./endpoint.ts";

export function authorizeRoute(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Hops");
  const reported = hopEndpoint(app, "/v1/authorize", deps.events, deps.events.authorize);
  route("POST /v1/authorize", {
    access: "current_hop",
    summary: "Decide one hop. The answer follows the commit of the decision.",
    body: authorizeRequest,
    reply: { description: "The decision, allow and deny alike.", schema: authorizeResponse },
    errors: ["unauthorized", "audit_unavailable"],
    handle: async ({ c, caller, body }) => {
      const result = await reported(c, authorize(deps, { ...body, subject: caller })).catch(unrecorded);
      return decisionOf(result, await consentUrlOf(deps, result));
    },
  });
}

export const unrecorded = unavailableAs(
  "audit_unavailable",
  "The decision could not be recorded, so there is none. Try again.",
);

/** @throws {ApiError} where there is no decision */
export function decisionOf(result: Authorized, consentUrl: string | undefined): CamelCased<AuthorizeResponse> {
  const { record, consentableScopes, acceptsTaint } = requireKind(result, "decided", {
    unauthorized: "The bearer must be the session's current-hop token.",
    observe_not_admitted: () =>
      invalidRequest("This scope may not be observed.", [
        { path: "enforced", message: "must be true: SVC_OBSERVE_SCOPES does not list the session's scope" },
      ]),
    invalid_proof: actorUnproven,
  });
  return {
    ...record,
    ...(record.recoverable && { consentableScopes: [...consentableScopes], consentUrl }),
    transactionRequired: record.privileged,
    acceptsTaint,
    decidedAt: iso(record.decidedAtMs),
  };
}

export function renewRoute(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Hops");
  const reported = hopEndpoint(app, "/v1/token/renew", deps.events, deps.events.renew);
  const fault = unavailableAs("guard_unavailable", "The single use cannot be decided now; no token was issued.");
  route("POST /v1/token/renew", {
    access: "current_hop",
    summary: "Spend the current-hop token for siblings at the same place in the chain.",
    body: renewRequest,
    reply: { description: "The siblings.", schema: renewResponse },
    errors: ["unauthorized", "token_spent", "renewal_refused", "guard_unavailable"],
    handle: async ({ c, caller, body }) => {
      const result = await reported(c, renew(deps, { ...body, subject: caller })).catch(fault);
      const { tokens, expiresInSeconds } = requireKind(result, "renewed", {
        unauthorized: "The bearer must be a current-hop token: a root grant or an agent's token.",
        invalid_proof: actorUnproven,
        token_spent: "The token was spent before: use its siblings, or the consent's next token.",
        refused: ({ reason }) =>
          new ApiError("renewal_refused", "The session's present state denies this caller.", {
            details: { deny_reason: reason },
          }),
      });
      return { tokens, expiresIn: expiresInSeconds };
    },
  });
}

export function sessionTargetsRoute(app: App, deps: Deps): void {
  const { list } = routesOf(app, deps, "Hops");
  app.use("/v1/session/targets", etag());
  list("GET /v1/session/targets", {
    access: "current_hop",
    summary: "What a decision would allow the caller now; it records, marks and spends nothing.",
    query: pagedQuery,
    page: sessionTargetPage,
    description: "Allowed targets by name, with an ETag.",
    otherReplies: { 304: { description: "The page is the one that `If-None-Match` names." } },
    /** A reader may keep a page to find out whether it changed, never to decide by it. */
    headers: { "Cache-Control": "private, no-cache" },
    errors: ["unauthorized", "database_unavailable"],
    rows: async ({ caller, after, limit }) => {
      const targets = await sessionTargets(deps, caller);
      if (targets === undefined) throw new ApiError("unauthorized", "The bearer must be a current-hop token.");
      return targets.filter(({ target }) => after === undefined || target > after).slice(0, limit);
    },
    item: (target) => target,
    position: ({ target }) => target,
  });
}
