import { actionId } from "./tokens.ts";

/** What `POST /v1/authorize` answers to one call of a tool. */
export const allowOf = ({ target, dataClass }: { target: string; dataClass: string }) => ({
  action_id: actionId,
  decision: "allow",
  deny_reason: null,
  recoverable: false,
  enforced: true,
  hop: 2,
  acting_agent: "planner",
  target,
  target_kind: "tool",
  data_class: dataClass,
  privileged: false,
  transaction_required: false,
  taint: "trusted_internal",
  taint_source: null,
  policy_version: 3,
  guarantee_level: "network",
  decided_at: "2026-01-01T00:00:00.000Z",
});

export const denyOf = (call: { target: string; dataClass: string }) => ({
  ...allowOf(call),
  decision: "deny",
  deny_reason: "SCOPE_NOT_CONSENTED",
  recoverable: true,
  consentable_scopes: ["travel"],
});

/** What `POST /v1/token/exchange` answers. */
export const grantOf = (token: string) => ({
  access_token: token,
  issued_token_type: "urn:ietf:params:oauth:token-type:jwt",
  token_type: "Bearer",
  expires_in: 60,
});
