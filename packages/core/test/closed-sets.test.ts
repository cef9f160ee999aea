import { expect, test } from "vitest";
import { chainBreakReasons } from "../src/chain.ts";
import { definitionMembers } from "../src/definitions.ts";
import { denyReasons } from "../src/deny-reason.ts";
import { errorCodes, oauthErrorCodes } from "../src/error-code.ts";
import * as kinds from "../src/kinds.ts";
import { identityStatuses, quarantineReasons, taints } from "../src/kinds.ts";
import { discoveryKinds } from "../src/manifest.ts";
import { diffKinds, discoveryCredentials } from "../src/reconcile.ts";

/** Written out from the reference: a set that grows or loses a member breaks its readers. */
const sets: readonly (readonly [name: string, set: readonly string[], members: string])[] = [
  [
    "deny reasons, in the order of the checks",
    denyReasons,
    "SESSION_EXPIRED SESSION_REVOKED AGENT_REVOKED AGENT_QUARANTINED IDENTITY_REQUIRED TARGET_BLOCKED PATH_NOT_DECLARED " +
      "HOP_BUDGET_EXCEEDED TARGET_NOT_DECLARED SCOPE_NOT_CONSENTED DATA_CLASS_NOT_DECLARED DATA_CLASS_WIDENED TAINT_BLOCKED",
  ],
  ["break reasons", chainBreakReasons, "LEGACY_TOKEN PARENT_NOT_FOUND PARENT_MISMATCH PARENT_INCOMPLETE LEGACY_RECORD"],
  ["taints, low to high", taints, "trusted_internal untrusted_external"],
  ["target kinds", kinds.targetKinds, "tool agent"],
  ["outcomes", kinds.outcomes, "allow deny"],
  ["guarantee levels, strongest first", kinds.guaranteeLevels, "full connector network consent_only"],
  ["kinds of access", kinds.accessKinds, "read write"],
  ["stages", kinds.decisionStages, "authorize exchange mint"],
  ["manifest statuses", kinds.manifestStatuses, "reconciled attested rejected needs_review"],
  ["kinds of difference", diffKinds, "exceeds conflicts undiscovered undeclarable"],
  ["kinds of discovery sources", discoveryKinds, "mcp a2a http"],
  ["credentials of a discovery", discoveryCredentials, "none sent required"],
  ["members of a definition", definitionMembers, "title description inputSchema outputSchema annotations"],
  ["identity statuses", identityStatuses, "none enrolled quarantined revoked"],
  [
    "quarantine reasons, in the order they are asked",
    quarantineReasons,
    "NO_PRINCIPAL NO_IDENTITY_PROVIDER PRINCIPAL_INVALID KEY_IN_USE",
  ],
  ["causes of a failed proof", kinds.popFailureCauses, "missing invalid wrong_agent not_enrolled"],
  ["enforcement point outcomes", kinds.pepOutcomes, "allowed blocked observed_would_block"],
  [
    "block causes",
    kinds.blockCauses,
    "policy pdp_unreachable exchange_unreachable mint_unreachable audit_unavailable unauthorized unresolvable_call " +
      "body_too_large unbindable other",
  ],
  [
    "OAuth errors",
    oauthErrorCodes,
    "invalid_request invalid_client invalid_grant unsupported_grant_type invalid_scope invalid_target slow_down",
  ],
];

test.each(sets)("%s", (_, set, members) => expect(set).toEqual(members.split(" ")));

test("error codes hold every code of the reference", () => {
  const codes =
    "invalid_request unauthorized agent_not_found scope_not_found policy_version_not_found manifest_version_not_found " +
    "action_not_found session_not_found enrollment_not_found route_not_found method_not_allowed payload_too_large " +
    "unsupported_media_type renewal_refused mint_refused agent_exists agent_revoked token_spent policy_version_changed " +
    "needs_review policy_recompile_required enrollment_expired already_minted transaction_not_required " +
    "reconciliation_rejected policy_too_large params_unbindable rate_limited audit_unavailable database_unavailable " +
    "guard_unavailable internal invalid_proof";
  expect(codes.split(" ").filter((code) => !errorCodes.includes(code as never))).toEqual([]);
  expect(new Set(errorCodes).size).toBe(errorCodes.length);
});
