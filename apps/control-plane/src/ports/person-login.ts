/** A login at the OpenID provider that was begun: what its callback is compared with. */
export interface Login {
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636. */
  readonly verifier: string;
}

/** A person, as the provider's ID token and its UserInfo endpoint describe them. */
export interface Person {
  readonly kind: "person";
  /** In the provider's own spelling. */
  readonly issuer: string;
  /** `sub` at that provider. */
  readonly subject: string;
  readonly name: string | null;
  readonly email: string | null;
  /** Values of the claim that gives roles. */
  readonly groups: readonly string[];
  /** SHA-256 of the ID token in compact form, in base64url. */
  readonly idTokenHash: string;
}

export type LoginEnd =
  | Person
  /** The provider's error of the callback (RFC 6749 section 4.1.2.1, OpenID Connect Core section 3.1.2.6). */
  | { readonly kind: "refused"; readonly error: string }
  /** The callback or the ID token is not of this login: state, `iss`, code, nonce or signature. */
  | { readonly kind: "invalid"; readonly cause: unknown }
  /** The provider does not accept this service as its client. */
  | { readonly kind: "client_refused"; readonly cause: unknown };

export interface PersonLogin {
  /** @returns the provider's address to go to. @throws {IdentityProviderUnavailable} */
  begin(options: { readonly again: boolean }): Promise<Login & { readonly address: URL }>;
  /** @param query of the callback, as sent. @throws {IdentityProviderUnavailable} */
  complete(query: URLSearchParams, login: Login): Promise<LoginEnd>;
}
