import type { PrivateJwk, PublicJwk } from "../jwk.ts";

export type MaybePromise<T> = T | Promise<T>;

/** The whole header of every token made here: nothing else is ever written, or accepted. */
export interface JwsHeader {
  readonly alg: string;
  readonly typ: string;
  readonly kid: string;
}

/** Makes a compact JWS (RFC 7515 section 7.1). The key stays inside, where no log or serializer finds it. */
export type SignJws = (header: JwsHeader, payload: string) => MaybePromise<string>;

/** Whether the signature of a compact JWS is this key's. The algorithm is the key's; the header is not consulted. */
export type CheckJws = (token: string) => MaybePromise<boolean>;

/**
 * Hashing and signatures as the platform offers them: on Node synchronous `node:crypto`, which costs a third of its
 * asynchronous sibling for one ES256 signature; elsewhere jose on WebCrypto. The `imports` map of the package chooses.
 */
export interface Runtime {
  /** 32 bytes by HKDF-SHA256 without a salt (RFC 5869). */
  derive(secret: Uint8Array, purpose: string): Uint8Array;
  /** HMAC-SHA256 under a secret (RFC 7518 section 3.2). */
  mac(secret: Uint8Array): { readonly sign: SignJws; readonly check: CheckJws };
  /** base64url(SHA-256(data)), of the UTF-8 bytes where it is text. */
  sha256Base64url(data: Uint8Array | string): string;
  toBase64url(data: Uint8Array | string): string;
  /** Lenient about text that is not base64url, and never throws: callers compare the re-encoding. */
  fromBase64url(text: string): Uint8Array;
  /** Throws where the key material is no key: a point off its curve, halves of two pairs. */
  signer(jwk: PrivateJwk): MaybePromise<SignJws>;
  /** Throws where the key material is no key: a point off its curve. */
  checker(jwk: PublicJwk): MaybePromise<CheckJws>;
}
