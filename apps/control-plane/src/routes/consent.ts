import { consentRequest, consentResponse } from "@svc/core";
import { grantConsent } from "../commands/session/grant-consent.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { requireKind } from "../http/require-kind.ts";
import { routesOf } from "../http/routes.ts";
import { withTimes } from "../http/times.ts";
import type { Deps } from "./deps.ts";

export function consentRoute(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Consent");
  route("POST /v1/consent", {
    access: "admin",
    summary: "Start a session by a person's consent; the answer holds its hop-1 token.",
    body: consentRequest,
    reply: { status: 201, description: "The session, pinned to one policy version.", schema: consentResponse },
    errors: [
      ...(["scope_not_found", "policy_recompile_required", "policy_version_changed"] as const),
      ...(["database_unavailable", "guard_unavailable", "restore_unacknowledged"] as const),
    ],
    handle: async ({ caller, body: { scope, userSub, ttlSeconds, policyVersion } }) => {
      const command = { scope, userSub, ttlSeconds, policyVersion, consentedBy: caller.label };
      const { session, rootGrant } = requireKind(await grantConsent(deps, command), "granted", {
        scope_not_found: "This scope grants nothing: no agent's manifest declares it.",
        policy_recompile_required: "The scope's policy predates the present schema: submit one of its manifests again.",
        policy_version_changed: ({ currentVersion }) =>
          new ApiError("policy_version_changed", "The scope's policy is no longer the one that was shown.", {
            details: { current_version: currentVersion },
          }),
      });
      return { ...withTimes(session), rootGrant };
    },
  });
}
