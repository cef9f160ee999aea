import { authorizeRequest, authorizeResponse } from "@svc/core";
import type { Context } from "hono";
import type { HopDeps } from "../../commands/deps.ts";
import { type AuthorizeCommand, authorize, type Decided } from "../../commands/hop/authorize.ts";
import type { Events } from "../../events/events.ts";
import type { RouteAuth } from "../../http/authentication.ts";
import type { App } from "../../http/endpoint.ts";
import { invalidRequest } from "../../http/issues.ts";
import { requireKind } from "../../http/require-kind.ts";
import { routesOf } from "../../http/routes.ts";
import { iso } from "../../http/times.ts";
import { actorUnproven, hopFault } from "./fault.ts";
import { openSpan, takeSpan } from "./spans.ts";

export interface HopRouteDeps extends HopDeps, RouteAuth {
  readonly cursorKey: Uint8Array;
  readonly events: Events;
}

export function authorizeRoute(app: App, deps: HopRouteDeps): void {
  const { route } = routesOf(app, deps, "Hops");
  const { events } = deps;
  openSpan(app, "/v1/authorize", events, events.decideStarted, events.authorizeMalformed);
  route("POST /v1/authorize", {
    access: "current_hop",
    summary: "Decide one hop. The answer follows the commit of the decision.",
    body: authorizeRequest,
    reply: { description: "The decision, allow and deny alike.", schema: authorizeResponse },
    errors: ["unauthorized", "audit_unavailable"],
    handle: async ({ c, caller, body }) => toAnswer(await decided(deps, c, { ...body, subject: caller })),
  });
}

async function decided(deps: HopRouteDeps, c: Context, command: AuthorizeCommand): Promise<Decided> {
  const result = await authorize(deps, command).catch((error: unknown) => {
    deps.events.decisionNotRecorded(takeSpan(c), error);
    throw hopFault(error, "audit_unavailable", "The decision could not be recorded, so there is none. Try again.");
  });
  deps.events.authorizeAnswered(takeSpan(c), result);
  return requireKind(result, "decided", {
    unauthorized: "The bearer must be the session's current-hop token.",
    observe_not_admitted: () =>
      invalidRequest("This scope may not be observed.", [
        { path: "enforced", message: "must be true: SVC_OBSERVE_SCOPES does not list the session's scope" },
      ]),
    invalid_proof: actorUnproven,
  });
}

const toAnswer = ({ record, consentableScopes }: Decided) => ({
  ...record,
  ...(record.recoverable && { consentableScopes: [...consentableScopes] }),
  transactionRequired: record.privileged,
  decidedAt: iso(record.decidedAtMs),
});
