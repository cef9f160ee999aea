import { renewRequest, renewResponse } from "@svc/core";
import type { Context } from "hono";
import { type Renewed, renew } from "../../commands/hop/renew.ts";
import { ApiError } from "../../http/api-error.ts";
import type { App } from "../../http/endpoint.ts";
import { invalidRequest } from "../../http/issues.ts";
import { jsonResponse } from "../../http/json-response.ts";
import { mount } from "../../http/mount.ts";
import type { HopRouteDeps } from "./authorize.ts";
import { hopFault } from "./fault.ts";

const renewals = "/v1/token/renew";

export function renewRoute(app: App, deps: HopRouteDeps): void {
  const asked = new WeakSet<Context>();
  // A renewal has no span whose end would tell of one that was turned away before its command.
  app.use(renewals, async (c, next) => {
    await next();
    if (!asked.has(c)) deps.events.renewMalformed();
  });
  mount(
    app,
    deps,
    {
      method: "post",
      path: renewals,
      access: "current_hop",
      tag: "Hops",
      summary: "Spend the current-hop token for siblings at the same place in the chain.",
      body: renewRequest,
      replies: { 200: { description: "The siblings.", schema: renewResponse } },
      ownHeaders: true,
      errors: ["unauthorized", "token_spent", "renewal_refused", "guard_unavailable"],
    },
    async ({ c, caller, body }) => {
      asked.add(c);
      const command = { subject: caller, count: body.count, actorToken: body.actor_token };
      const result = await renew(deps, command).catch((error: unknown) => {
        deps.events.renewUnavailable(error);
        throw hopFault(error, "guard_unavailable", "The single use cannot be decided now; no token was issued.");
      });
      deps.events.renewAnswered(result);
      const { tokens, expiresInSeconds } = granted(result);
      return jsonResponse({ tokens, expires_in: expiresInSeconds }, 200);
    },
  );
}

function granted(result: Renewed): Extract<Renewed, { kind: "renewed" }> {
  switch (result.kind) {
    case "renewed":
      return result;
    case "unauthorized":
      throw new ApiError("unauthorized", "The bearer must be a current-hop token: a root grant or an agent's token.");
    case "invalid_proof":
      throw invalidRequest("The actor token does not prove the caller.", [
        { path: "actor_token", message: "must be signed by the caller's enrolled key for this token" },
      ]);
    case "token_spent":
      throw new ApiError("token_spent", "The token was spent before: use its siblings, or the consent's next token.");
    case "refused":
      throw new ApiError("renewal_refused", "The session's present state denies this caller.", {
        details: { deny_reason: result.reason },
      });
  }
}
