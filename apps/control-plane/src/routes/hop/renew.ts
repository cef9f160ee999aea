import { renewRequest, renewResponse } from "@svc/core";
import type { Context } from "hono";
import { renew } from "../../commands/hop/renew.ts";
import { ApiError } from "../../http/api-error.ts";
import type { App } from "../../http/endpoint.ts";
import { requireKind } from "../../http/require-kind.ts";
import { routesOf } from "../../http/routes.ts";
import type { HopRouteDeps } from "./authorize.ts";
import { actorUnproven, hopFault } from "./fault.ts";

export function renewRoute(app: App, deps: HopRouteDeps): void {
  const { route } = routesOf(app, deps, "Hops");
  const handled = new WeakSet<Context>();
  // A renewal has no span that ends where a request is rejected before its command.
  app.use("/v1/token/renew", async (c, next) => {
    await next();
    if (!handled.has(c)) deps.events.renewMalformed();
  });
  route("POST /v1/token/renew", {
    access: "current_hop",
    summary: "Spend the current-hop token for siblings at the same place in the chain.",
    body: renewRequest,
    reply: { description: "The siblings.", schema: renewResponse },
    errors: ["unauthorized", "token_spent", "renewal_refused", "guard_unavailable"],
    handle: async ({ c, caller, body }) => {
      handled.add(c);
      const result = await renew(deps, { ...body, subject: caller }).catch((error: unknown) => {
        deps.events.renewUnavailable(error);
        throw hopFault(error, "guard_unavailable", "The single use cannot be decided now; no token was issued.");
      });
      deps.events.renewAnswered(result);
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
