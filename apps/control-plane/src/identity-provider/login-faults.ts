import type * as OpenIdClient from "openid-client";
import { IdentityProviderUnavailable } from "../ports/identity-provider.ts";
import type { LoginEnd } from "../ports/person-login.ts";

/** Codes of `openid-client` for a callback or token that is not of this login. */
const invalidCodes = new Set([
  "OAUTH_INVALID_RESPONSE",
  "OAUTH_JWT_CLAIM_COMPARISON_FAILED",
  "OAUTH_JWT_TIMESTAMP_CHECK_FAILED",
  "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED",
  "OAUTH_KEY_SELECTION_FAILED",
  "OAUTH_UNSUPPORTED_OPERATION",
]);

/**
 * Why a login did not complete. A bad code is the login's fault, another error of the token endpoint the
 * configuration's (RFC 6749 section 5.2).
 * @throws {IdentityProviderUnavailable} for every other fault
 */
export function faultOf(client: typeof OpenIdClient, error: unknown): LoginEnd {
  if (error instanceof client.AuthorizationResponseError) return { kind: "refused", error: error.error };
  // The UserInfo endpoint refuses its token: a provider that saw the code twice ended it (RFC 6749 section 4.1.2).
  if (error instanceof client.WWWAuthenticateChallengeError) return { kind: "invalid", cause: error };
  if (error instanceof client.ResponseBodyError && error.status < 500) {
    return { kind: error.error === "invalid_grant" ? "invalid" : "client_refused", cause: error };
  }
  if (error instanceof client.ClientError && invalidCodes.has(error.code ?? ""))
    return { kind: "invalid", cause: error };
  throw new IdentityProviderUnavailable("the identity provider did not complete a login", { cause: error });
}
