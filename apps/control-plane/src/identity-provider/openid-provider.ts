import { userSub } from "@svc/core";
import { createRemoteJWKSet, customFetch, decodeJwt, errors, type JWTVerifyGetKey, jwtVerify } from "jose";
import { z } from "zod";
import type { Clock } from "../ports/clock.ts";
import { type IdentityProvider, IdentityProviderUnavailable, type Principal } from "../ports/identity-provider.ts";
import { boundedFetch } from "./bounded-fetch.ts";

export interface OpenIdProviderSettings {
  /** Compared as URLs: a provider may or may not write the slash at the end. */
  readonly issuer: URL;
  /** `aud` of the ID tokens. */
  readonly audience: string;
  readonly clock: Clock;
  readonly fetch?: typeof globalThis.fetch;
}

/** What was learnt of the provider: its own spelling of its issuer, and its keys. */
interface Provider {
  readonly issuer: string;
  readonly keys: JWTVerifyGetKey;
  readonly learntAtMs: number;
}

/** An OpenID provider by discovery (OpenID Connect Discovery 1.0 section 4); what was learnt holds for an hour. */
export function openIdProvider(settings: OpenIdProviderSettings): IdentityProvider {
  let known: Provider | undefined;
  let learning: Promise<Provider> | undefined;
  const learn = (): Promise<Provider> => {
    learning ??= discover(settings)
      .then((provider) => {
        known = provider;
        return provider;
      })
      .finally(() => {
        learning = undefined;
      });
    return learning;
  };
  const provider = async (): Promise<Provider> =>
    known !== undefined && settings.clock.nowMs() - known.learntAtMs < learntForMs ? known : learn();
  return {
    async principalOf(idToken, nonce) {
      // A token that names another key is not worth asking anybody about.
      if (statedNonce(idToken) !== nonce) return undefined;
      return verify(await provider(), idToken, nonce, settings);
    },
  };
}

const learntForMs = 3_600_000;
/** Whoever makes us look for a new key holds a credential for it. */
const keyCooldownMs = 1_000;

async function discover({ issuer, clock, fetch = globalThis.fetch }: OpenIdProviderSettings): Promise<Provider> {
  const isSecure = issuer.protocol === "https:";
  const bounded = boundedFetch(fetch);
  try {
    const oauth = await import("oauth4webapi");
    const options = { [oauth.customFetch]: bounded, [oauth.allowInsecureRequests]: !isSecure };
    const metadata = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options));
    const keysUrl = new URL(metadata.jwks_uri ?? "");
    if (isSecure && keysUrl.protocol !== "https:") throw new TypeError("the key set is not served over HTTPS");
    const keys = createRemoteJWKSet(keysUrl, { [customFetch]: bounded, cooldownDuration: keyCooldownMs });
    return { issuer: metadata.issuer, keys: telling(keys), learntAtMs: clock.nowMs() };
  } catch (cause) {
    throw new IdentityProviderUnavailable("the identity provider could not be discovered", { cause });
  }
}

/** That no key fits is a fault of the token; anything else, of the provider. */
const telling =
  (keys: JWTVerifyGetKey): JWTVerifyGetKey =>
  async (header, token) => {
    try {
      return await keys(header, token);
    } catch (cause) {
      if (cause instanceof errors.JWKSNoMatchingKey || cause instanceof errors.JWKSMultipleMatchingKeys) throw cause;
      throw new IdentityProviderUnavailable("the identity provider's keys could not be read", { cause });
    }
  };

/** Signatures only that a public key checks: whoever knows a shared secret could sign for everybody. */
const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

/** The provider's clock is another machine's. */
const clockToleranceSeconds = 5;

async function verify(
  { issuer, keys }: Provider,
  idToken: string,
  nonce: string,
  { audience, clock }: OpenIdProviderSettings,
): Promise<Principal | undefined> {
  try {
    const now = clock.nowMs();
    const { payload, protectedHeader } = await jwtVerify(idToken, keys, {
      algorithms,
      issuer,
      audience,
      requiredClaims: ["sub", "exp", "iat", "nonce"],
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(now),
    });
    const claims = idTokenClaims.safeParse({ ...payload, typ: protectedHeader.typ }).data;
    const isOurs =
      claims !== undefined &&
      claims.nonce === nonce &&
      claims.iat <= now / 1000 + clockToleranceSeconds &&
      isAuthorizedParty(claims, audience);
    return isOurs ? { issuer, subject: claims.sub } : undefined;
  } catch (error) {
    // A TypeError is a key that its algorithm does not take.
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** OpenID Connect Core 1.0 section 2. A `typ` of another kind of token (`at+jwt`, `logout+jwt`) is none of an ID token. */
const idTokenClaims = z.object({
  sub: userSub,
  aud: z.union([z.string(), z.array(z.string())]),
  azp: z.string().optional(),
  iat: z.number(),
  nonce: z.string(),
  typ: z
    .string()
    .regex(/^(application\/)?jwt$/i)
    .optional(),
});

/** Section 3.1.3.7: a token for several parties must say that it was issued to this one. */
const isAuthorizedParty = ({ aud, azp }: z.output<typeof idTokenClaims>, audience: string): boolean =>
  [aud].flat().length === 1 || azp === audience;

function statedNonce(idToken: string): unknown {
  try {
    return decodeJwt(idToken).nonce;
  } catch {
    return undefined;
  }
}
