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

/** {@link verifyToken} for one kind, remembering what it verified. */
export type VerifyRemembering<Kind extends TokenKind> = (
  token: string,
  options: VerifyOptions,
) => Promise<Verification<ClaimsOf[Kind]>>;

export interface VerifiedTokens<Kind extends TokenKind> {
  readonly verify: VerifyRemembering<Kind>;
  /**
   * Remembers a token as verified by `key`: for its signer, who need not check its own signature when the token comes back.
   * What it says is read from the token, as a verification would. One that does not read as its kind is not remembered.
   */
  readonly vouch: (token: string, key: VerificationKey) => void;
}

export interface RememberOptions {
  /** How many tokens are remembered; the oldest is forgotten first. */
  readonly capacity: number;
}

/**
 * Verifies as {@link verifyToken} does, but the signature of one token only once. Remembered by the token's SHA-256 are
 * its claims and the key that signed it: issuer, epoch and time are checked at every use, and so is that the lookup
 * still holds that very key, so that removing a key forgets everything it ever verified.
 */
export function rememberVerified<Kind extends TokenKind>(
  kind: Kind,
  { capacity }: RememberOptions,
): VerifiedTokens<Kind> {
  const remembered = new Map<string, Omit<SignedClaims<Kind>, "ok">>();
  return {
    async verify(token, options) {
      const name = sha256Base64url(token);
      const known = remembered.get(name);
      if (known !== undefined && options.keys.get(known.key.kid) === known.key)
        return checkPresent(known.claims, options);

      remembered.delete(name);
      const signed = await checkSigned(kind, token, options.keys);
      if (!signed.ok) return signed;
      const verification = checkPresent(signed.claims, options);
      if (verification.ok) remember(remembered, name, signed, capacity);
      return verification;
    },
    vouch(token, key) {
      const claims = readUnverified(kind, token);
      if (claims !== undefined) remember(remembered, sha256Base64url(token), { claims, key }, capacity);
    },
  };
}

/** {@link decodeUnverifiedHopToken}, remembering what the latest tokens said: whoever shows one shows it again. */
export function rememberDecoded({ capacity }: RememberOptions): (token: string) => HopClaims | undefined {
  const remembered = new Map<string, HopClaims>();
  return (token) => {
    const known = remembered.get(token);
    if (known !== undefined) return known;
    const claims = decodeUnverifiedHopToken(token);
    if (claims !== undefined) remember(remembered, token, claims, capacity);
    return claims;
  };
}

function remember<T>(entries: Map<string, T>, name: string, entry: T, capacity: number): void {
  entries.set(name, entry);
  const [oldest] = entries.keys();
  if (entries.size > capacity && oldest !== undefined) entries.delete(oldest);
}
