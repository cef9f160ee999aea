/** The person an agent is bound to. */
export interface Principal {
  /** Of the provider. */
  readonly issuer: string;
  /** `sub` at that provider. */
  readonly subject: string;
}

/** The provider gave no usable answer within its deadline. */
export class IdentityProviderUnavailable extends Error {
  readonly code = "identity_provider_unavailable";
}

export interface IdentityProvider {
  /** Undefined for an invalid ID token or another `nonce`. @throws {IdentityProviderUnavailable} */
  principalOf(idToken: string, nonce: string): Promise<Principal | undefined>;
}

/** The provider's word that one of its people uses a client here (draft-ietf-oauth-identity-assertion-authz-grant). */
export interface IdentityAssertion extends Principal {
  readonly clientId: string;
  readonly jti: string;
  readonly resource: string | undefined;
  /** Space-separated. */
  readonly scope: string | undefined;
}

export interface IdentityAssertions {
  /** Undefined for one that is invalid, over, or for another audience. @throws {IdentityProviderUnavailable} */
  verify(assertion: string, audience: string): Promise<IdentityAssertion | undefined>;
}
