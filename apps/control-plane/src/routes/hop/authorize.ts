import { authorizeRequest, authorizeResponse } from "@svc/core";
import { type AuthorizeCommand, authorize, type Decided } from "../../commands/hop/authorize.ts";
import type { HopDeps } from "../../commands/hop/hop-deps.ts";
import type { Events } from "../../events/events.ts";
import { ApiError } from "../../http/api-error.ts";
import type { App } from "../../http/endpoint.ts";
import { invalidRequest } from "../../http/issues.ts";
import { jsonResponse } from "../../http/json-response.ts";
import { mount, type RouteAuth } from "../../http/mount.ts";
import { hopFault } from "./fault.ts";
import { openSpan, takeSpan } from "./spans.ts";

export interface HopRouteDeps extends HopDeps, RouteAuth {
  readonly events: Events;
}

export function authorizeRoute(app: App, deps: HopRouteDeps): void {
  const { events } = deps;
  openSpan(app, "/v1/authorize", events, events.decideStarted, events.authorizeMalformed);
  mount(
    app,
    deps,
    {
      method: "post",
      path: "/v1/authorize",
      access: "current_hop",
      tag: "Hops",
      summary: "Decide one hop; the decision is committed before it is told.",
      body: authorizeRequest,
      replies: { 200: { description: "The decision, allow and deny alike.", schema: authorizeResponse } },
      ownHeaders: true,
      errors: ["unauthorized", "audit_unavailable"],
    },
    async ({ c, caller, body }) => {
      const decided = await answer(deps, () => takeSpan(c), {
        subject: caller,
        sessionId: body.session_id,
        target: body.target,
        targetKind: body.target_kind,
        dataClass: body.data_class,
        taint: body.taint,
        enforced: body.enforced,
        actorToken: body.actor_token,
      });
      return jsonResponse(toResponse(decided), 200);
    },
  );
}

async function answer(
  deps: HopRouteDeps,
  span: () => ReturnType<typeof takeSpan>,
  command: AuthorizeCommand,
): Promise<Decided> {
  const result = await authorize(deps, command).catch((error: unknown) => {
    deps.events.decisionNotRecorded(span(), error);
    throw hopFault(error, "audit_unavailable", "The decision could not be recorded, so there is none. Try again.");
  });
  deps.events.authorizeAnswered(span(), result);
  switch (result.kind) {
    case "decided":
      return result;
    case "unauthorized":
      throw new ApiError("unauthorized", "The bearer must be the session's current-hop token.");
    case "observe_not_admitted":
      throw invalidRequest("This scope may not be observed.", [
        { path: "enforced", message: "must be true: SVC_OBSERVE_SCOPES does not list the session's scope" },
      ]);
    case "invalid_proof":
      throw invalidRequest("The actor token does not prove the caller.", [
        { path: "actor_token", message: "must be signed by the caller's enrolled key for this token" },
      ]);
  }
}

const toResponse = ({ record, consentableScopes }: Decided) => ({
  action_id: record.actionId,
  decision: record.decision,
  deny_reason: record.denyReason,
  recoverable: record.recoverable,
  ...(record.recoverable && { consentable_scopes: consentableScopes }),
  enforced: record.enforced,
  hop: record.hop,
  acting_agent: record.actingAgent,
  target: record.target,
  target_kind: record.targetKind,
  data_class: record.dataClass,
  privileged: record.privileged,
  transaction_required: record.privileged,
  taint: record.taint,
  taint_source: record.taintSource,
  policy_version: record.policyVersion,
  guarantee_level: record.guaranteeLevel,
  decided_at: new Date(record.decidedAtMs).toISOString(),
});
