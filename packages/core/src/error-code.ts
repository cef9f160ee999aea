/** Every `error.code` of the usual envelope (specification: Errors; contract: Conventions). */
export const errorCodes = [
  "invalid_request",
  "invalid_proof",
  "unauthorized",
  "renewal_refused",
  "mint_refused",
  "agent_not_found",
  "scope_not_found",
  "policy_version_not_found",
  "manifest_version_not_found",
  "action_not_found",
  "session_not_found",
  "enrollment_not_found",
  "key_not_found",
  "route_not_found",
  "method_not_allowed",
  "payload_too_large",
  "unsupported_media_type",
  "agent_exists",
  "agent_revoked",
  "token_spent",
  "policy_version_changed",
  "needs_review",
  "policy_recompile_required",
  "enrollment_expired",
  "already_minted",
  "transaction_not_required",
  "issuer_key_configured",
  "reconciliation_rejected",
  "policy_too_large",
  "params_unbindable",
  "rate_limited",
  "audit_unavailable",
  "database_unavailable",
  "guard_unavailable",
  "identity_provider_unavailable",
  "internal",
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** Error codes of the token exchange (RFC 6749 section 5.2, RFC 8693 section 2.2.2). */
export const oauthErrorCodes = [
  "invalid_request",
  "invalid_grant",
  "unsupported_grant_type",
  "invalid_target",
] as const;
export type OAuthErrorCode = (typeof oauthErrorCodes)[number];
