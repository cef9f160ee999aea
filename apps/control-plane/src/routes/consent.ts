import { consentRequest, consentResponse } from "@svc/core";
import { type Consented, grantConsent } from "../commands/session/grant-consent.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import type { Deps } from "./deps.ts";

export function consentRoute(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "post",
      path: "/v1/consent",
      access: "admin",
      tag: "Consent",
      summary: "Root a session in a human's consent; the answer holds its hop-1 token.",
      body: consentRequest,
      replies: { 201: { description: "The session, pinned to one policy version.", schema: consentResponse } },
      errors: [
        ...(["scope_not_found", "policy_recompile_required", "policy_version_changed"] as const),
        ...(["database_unavailable", "guard_unavailable", "restore_unacknowledged"] as const),
      ],
    },
    async ({ c, caller, body }) => {
      const consented = await grantConsent(deps, {
        scope: body.scope,
        userSub: body.user_sub,
        ttlSeconds: body.ttl_seconds,
        policyVersion: body.policy_version,
        consentedBy: caller.label,
      });
      return c.json(toConsentRead(granted(consented)), 201);
    },
  );
}

type Grant = Extract<Consented, { kind: "granted" }>;

function granted(consented: Consented): Grant {
  switch (consented.kind) {
    case "granted":
      return consented;
    case "scope_not_found":
      throw new ApiError("scope_not_found", "Nothing can be done under this scope: no agent's manifest declares it.");
    case "policy_recompile_required":
      throw new ApiError(
        "policy_recompile_required",
        "The scope's policy predates the present schema: submit one of its manifests again.",
      );
    case "policy_version_changed":
      throw new ApiError("policy_version_changed", "The scope's policy is no longer the one that was shown.", {
        details: { current_version: consented.currentVersion },
      });
  }
}

const toConsentRead = ({ session, rootGrant }: Grant) => ({
  session_id: session.sessionId,
  root_grant: rootGrant,
  policy_version: session.policyVersion,
  scope: session.scope,
  user_sub: session.userSub,
  hop_budget: session.hopBudget,
  expires_at: new Date(session.expiresAtMs).toISOString(),
});
