import { pagedQuery, sessionTargetPage } from "@svc/core";
import { sessionTargets } from "../../commands/hop/session-targets.ts";
import { ApiError } from "../../http/api-error.ts";
import type { App } from "../../http/endpoint.ts";
import { routesOf } from "../../http/routes.ts";
import type { HopRouteDeps } from "./authorize.ts";

export function sessionTargetsRoute(app: App, deps: HopRouteDeps): void {
  const { list } = routesOf(app, deps, "Hops");
  list("GET /v1/session/targets", {
    access: "current_hop",
    summary: "What a decision would allow the caller now; it records, marks and spends nothing.",
    query: pagedQuery,
    page: sessionTargetPage,
    description: "Allowed targets by name.",
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
