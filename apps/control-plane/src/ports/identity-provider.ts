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
