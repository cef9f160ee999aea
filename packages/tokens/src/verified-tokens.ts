import { LRUCache } from "lru-cache";
import type { HopClaims } from "./claims.ts";
import { sha256Base64url } from "./encoding.ts";
import type { VerificationKey } from "./key-set.ts";
import {
  type ClaimsOf,
  checkPresent,
  checkSigned,
  decodeUnverifiedHopToken,
  readUnverified,
  type SignedClaims,
  type TokenKind,
  type Verification,
  type VerifyOptions,
} from "./verify.ts";

/** {@link verifyToken} for one kind, caching what it verified. */
export type VerifyRemembering<Kind extends TokenKind> = (
  token: string,
  options: VerifyOptions,
) => Promise<Verification<ClaimsOf[Kind]>>;

export interface VerifiedTokens<Kind extends TokenKind> {
  readonly verify: VerifyRemembering<Kind>;
  /** Caches a token we just signed as verified by `key`. One that does not read as its kind is not cached. */
  readonly prime: (token: string, key: VerificationKey) => void;
}

export interface RememberOptions {
  /** Most tokens cached; the least recently used one is dropped. */
  readonly capacity: number;
}

/**
 * Verifies as {@link verifyToken} does, but the signature of one token only once. Claims and key are cached by the
 * token's SHA-256. Issuer, epoch and time are checked at every use, and that the lookup still returns the same key: so
 * removing a key drops everything it verified.
 */
export function rememberVerified<Kind extends TokenKind>(
  kind: Kind,
  { capacity }: RememberOptions,
): VerifiedTokens<Kind> {
  const cached = new LRUCache<string, Omit<SignedClaims<Kind>, "ok">>({ max: capacity });
  return {
    async verify(token, options) {
      const name = sha256Base64url(token);
      const known = cached.get(name);
      if (known !== undefined && options.keys.get(known.key.kid) === known.key)
        return checkPresent(known.claims, options);

      cached.delete(name);
      const signed = await checkSigned(kind, token, options.keys);
      if (!signed.ok) return signed;
      const verification = checkPresent(signed.claims, options);
      if (verification.ok) cached.set(name, signed);
      return verification;
    },
    prime(token, key) {
      const claims = readUnverified(kind, token);
      if (claims !== undefined) cached.set(sha256Base64url(token), { claims, key });
    },
  };
}

/** {@link decodeUnverifiedHopToken}, caching the claims of the latest tokens: a caller presents one several times. */
export function rememberDecoded({ capacity }: RememberOptions): (token: string) => HopClaims | undefined {
  const cached = new LRUCache<string, HopClaims>({ max: capacity });
  return (token) => {
    const known = cached.get(token);
    if (known !== undefined) return known;
    const claims = decodeUnverifiedHopToken(token);
    if (claims !== undefined) cached.set(token, claims);
    return claims;
  };
}
