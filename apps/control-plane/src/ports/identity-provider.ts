/** The person an agent is bound to. */
export interface Principal {
  /** Of the provider. */
  readonly issuer: string;
  /** The person, as this provider knows them. */
  readonly subject: string;
}

/** The provider gave no usable answer within its deadline: nothing is known about the assertion. */
export class IdentityProviderUnavailable extends Error {
  readonly code = "identity_provider_unavailable";
}

export interface IdentityProvider {
  /**
   * Whom an ID token speaks of. Undefined where it is not valid here and now, or its `nonce` is not the given one.
   * @throws {IdentityProviderUnavailable}
   */
  principalOf(idToken: string, nonce: string): Promise<Principal | undefined>;
}
