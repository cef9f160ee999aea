/** ES256 (RFC 7518 section 6.2). */
interface EcPublicJwk {
  readonly kty: "EC";
  readonly crv: "P-256";
  readonly x: string;
  readonly y: string;
}

/** Ed25519 (RFC 8037 section 2). */
interface OkpPublicJwk {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
}

export type PublicJwk = EcPublicJwk | OkpPublicJwk;
export type PrivateJwk = PublicJwk & { readonly d: string };

/** The names a header may give this key's one algorithm (RFC 9864 renamed EdDSA to Ed25519); the first is written. */
export const algorithmsOf = (jwk: PublicJwk): readonly [string, ...string[]] =>
  jwk.kty === "EC" ? ["ES256"] : ["EdDSA", "Ed25519"];

export const toPublicJwk = (jwk: PrivateJwk): PublicJwk =>
  jwk.kty === "EC" ? { kty: jwk.kty, crv: jwk.crv, x: jwk.x, y: jwk.y } : { kty: jwk.kty, crv: jwk.crv, x: jwk.x };
