import { LRUCache } from "lru-cache";
import {
  type HopClaims,
  hopTokenType,
  isSibling,
  readHopClaims,
  readSiblingClaims,
  readTransactionClaims,
  siblingType,
  type TransactionClaims,
  transactionTokenType,
} from "./claims.ts";
import { type CompactJws, decodeObject, splitCompactJws } from "./compact-jws.ts";
import { sha256Base64url } from "./encoding.ts";
import type { CheckingKey } from "./key-set.ts";
import { type ClockOptions, refuse, timeRefusal } from "./refusal.ts";

/** The kinds the issuer makes, each with its own `typ` so that none is accepted as another (RFC 8725 section 3.11). */
const kinds = {
  hop: { typ: hopTokenType, read: readHopClaims },
  sibling: { typ: siblingType, read: readSiblingClaims },
  transaction: { typ: transactionTokenType, read: readTransactionClaims },
} as const;

interface ClaimsOf {
  readonly hop: HopClaims;
  readonly sibling: HopClaims;
  readonly transaction: TransactionClaims;
}
export type TokenKind = keyof ClaimsOf;

/**
 * Why a token is refused. `malformed` includes a missing or odd claim; `unknown_key` a `kid` the lookup does not hold;
 * `superseded` one from before the issuer's epoch.
 */
export const tokenRefusals = [
  "malformed",
  "type",
  "unknown_key",
  "signature",
  "issuer",
  "superseded",
  "not_yet_valid",
  "expired",
] as const;
export type TokenRefusal = (typeof tokenRefusals)[number];

export type Verification<Claims> =
  | { readonly ok: true; readonly claims: Claims }
  | { readonly ok: false; readonly cause: TokenRefusal };

interface CheckingKeys {
  get(kid: string): CheckingKey | undefined;
}

export interface VerifyOptions extends ClockOptions {
  /** Of a sibling: the issuer's own keys, which are in no key set. */
  readonly keys: CheckingKeys;
  readonly issuer: string;
  /** The issuer's epoch: tokens issued in an earlier second are refused. */
  readonly minIssuedAtSeconds?: number;
}

interface SignedClaims<Kind extends TokenKind> {
  readonly ok: true;
  readonly claims: ClaimsOf[Kind];
  readonly key: CheckingKey;
}

/** Verifies all but the audience, which the caller compares (docs/reference/tokens.md#verification). */
export async function verifyToken<Kind extends TokenKind>(
  kind: Kind,
  token: string,
  options: VerifyOptions,
): Promise<Verification<ClaimsOf[Kind]>> {
  const signed = await checkSigned(kind, token, options.keys);
  return signed.ok ? checkPresent(signed.claims, options) : signed;
}

/** Checks what does not change with time: kind, signature and the shape of the claims. */
async function checkSigned<Kind extends TokenKind>(
  kind: Kind,
  token: string,
  keys: CheckingKeys,
): Promise<SignedClaims<Kind> | { readonly ok: false; readonly cause: TokenRefusal }> {
  const jws = splitCompactJws(token);
  if (jws === undefined) return refuse("malformed");
  if (jws.typ !== kinds[kind].typ) return refuse("type");
  const key = keyOf(jws, keys);
  if (key === undefined) return refuse("unknown_key");
  // The algorithm is the key's (RFC 8725 section 3.1): the header may only agree.
  if (!key.algs.includes(jws.alg)) return refuse("signature");
  const isSigned = key.check(token);
  if (!(typeof isSigned === "boolean" ? isSigned : await isSigned)) return refuse("signature");
  const claims = kinds[kind].read(decodeObject(jws.payloadSegment)) as ClaimsOf[Kind] | undefined;
  return claims === undefined ? refuse("malformed") : { ok: true, claims, key };
}

const keyOf = ({ kid }: CompactJws, keys: CheckingKeys): CheckingKey | undefined =>
  kid === undefined ? undefined : keys.get(kid);

/** Checks what does change: issuer, epoch and time. */
function checkPresent<Claims extends HopClaims | TransactionClaims>(
  claims: Claims,
  options: Omit<VerifyOptions, "keys">,
): Verification<Claims> {
  const { issuer, minIssuedAtSeconds = 0 } = options;
  if (claims.iss !== issuer) return refuse("issuer");
  if (claims.iat < minIssuedAtSeconds) return refuse("superseded");
  const cause = timeRefusal(claims, options);
  return cause === undefined ? { ok: true, claims } : refuse(cause);
}

/** The unverified claims of a hop token: for its holder, to know its own hop and chain, never for a decision. */
export const decodeUnverifiedHopToken = (token: string): HopClaims | undefined => readUnverified("hop", token);

/** The same for a hop token or a sibling of it. */
export const decodeUnverifiedSubject = (token: string): HopClaims | undefined =>
  readUnverified(isSibling(token) ? "sibling" : "hop", token);

/** The same for a transaction token. */
export const decodeUnverifiedTransactionToken = (token: string): TransactionClaims | undefined =>
  readUnverified("transaction", token);

/** The unverified claims of a token of that kind. */
function readUnverified<Kind extends TokenKind>(kind: Kind, token: string): ClaimsOf[Kind] | undefined {
  const jws = splitCompactJws(token);
  if (jws?.typ !== kinds[kind].typ) return undefined;
  return kinds[kind].read(decodeObject(jws.payloadSegment)) as ClaimsOf[Kind] | undefined;
}

/** The unverified issuer of any JWT, to distinguish ours from others. */
export function decodeUnverifiedIssuer(token: string): string | undefined {
  const payload = token.length > 65_536 ? undefined : token.split(".", 4)[1];
  const claims: { readonly iss?: unknown } | undefined = payload ? decodeObject(payload) : undefined;
  return typeof claims?.iss === "string" ? claims.iss : undefined;
}

export type VerifiedTokens<Kind extends TokenKind> = ReturnType<typeof rememberVerified<Kind>>;
export type VerifyRemembering<Kind extends TokenKind> = VerifiedTokens<Kind>["verify"];

/** `capacity`: tokens cached; the least recently used one is dropped. */
type RememberOptions = { readonly capacity: number };

/** `once`: for tokens that are presented once, as a rule. Each is dropped at its first use, not kept until others follow. */
type VerifiedOptions = RememberOptions & { readonly once?: boolean };

/**
 * Verifies as {@link verifyToken} does, but the signature of one token only once. Claims and key are cached by the
 * token's SHA-256. Issuer, epoch and time are checked at every use, and that the lookup still returns the same key: so
 * removing a key drops everything it verified.
 */
export function rememberVerified<Kind extends TokenKind>(kind: Kind, { capacity, once = false }: VerifiedOptions) {
  const cached = new LRUCache<string, Omit<SignedClaims<Kind>, "ok">>({ max: capacity });
  return {
    async verify(token: string, options: VerifyOptions): Promise<Verification<ClaimsOf[Kind]>> {
      const name = sha256Base64url(token);
      const known = cached.get(name);
      const isCurrent = known !== undefined && options.keys.get(known.key.kid) === known.key;
      if (once || !isCurrent) cached.delete(name);
      if (isCurrent) return checkPresent(known.claims, options);
      const signed = await checkSigned(kind, token, options.keys);
      if (!signed.ok) return signed;
      const verification = checkPresent(signed.claims, options);
      if (verification.ok) cached.set(name, signed);
      return verification;
    },
    /** Caches a token that was just made of these claims by `key`, as if it had been verified. */
    prime(token: string, claims: ClaimsOf[Kind], key: CheckingKey): void {
      cached.set(sha256Base64url(token), { claims, key });
    },
  };
}

type Decode = (token: string) => HopClaims | undefined;
type DecodeOptions = RememberOptions & { readonly decode?: Decode };

/** The same, caching the claims of the latest tokens: a caller presents one several times. */
export function rememberDecoded({ capacity, decode = decodeUnverifiedHopToken }: DecodeOptions): Decode {
  const cached = new LRUCache<string, HopClaims>({ max: capacity });
  return (token) => {
    const known = cached.get(token);
    if (known !== undefined) return known;
    const claims = decode(token);
    if (claims !== undefined) cached.set(token, claims);
    return claims;
  };
}
