import { userSub } from "@svc/core";
import { createRemoteJWKSet, customFetch, decodeJwt, errors, type JWTVerifyGetKey, jwtVerify } from "jose";
import { z } from "zod";
import type { Clock } from "../ports/clock.ts";
import { type IdentityProvider, IdentityProviderUnavailable, type Principal } from "../ports/identity-provider.ts";
import { singleFlight } from "../ports/single-flight.ts";
import { boundedFetch } from "./bounded-fetch.ts";

export interface ProviderSettings {
  /** Compared as a URL: a provider may write the slash at the end or not. */
  readonly issuer: URL;
  readonly clock: Clock;
  readonly fetch?: typeof globalThis.fetch;
}

interface OpenIdProviderSettings extends ProviderSettings {
  /** `aud` of the ID tokens. */
  readonly audience: string;
}

export interface Provider {
  /** In the provider's own spelling. */
  readonly issuer: string;
  readonly keys: JWTVerifyGetKey;
  readonly discoveredAtMs: number;
}

/** An OpenID provider by discovery (OpenID Connect Discovery 1.0 section 4), which is repeated after an hour. */
export function discoveredProvider(settings: ProviderSettings): () => Promise<Provider> {
  let known: Provider | undefined;
  const discoverOnce = singleFlight(async () => {
    known = await discover(settings);
    return known;
  });
  return async () =>
    known !== undefined && settings.clock.nowMs() - known.discoveredAtMs < discoveryValidMs ? known : discoverOnce();
}

/** The provider's ID tokens, which bind an agent to a person. */
export function openIdProvider(settings: OpenIdProviderSettings): IdentityProvider {
  const provider = discoveredProvider(settings);
  return {
    async principalOf(idToken, nonce) {
      // A token for another key needs no request.
      if (statedNonce(idToken) !== nonce) return undefined;
      return verify(await provider(), idToken, nonce, settings);
    },
  };
}

const discoveryValidMs = 3_600_000;
/** Only the holder of a credential can cause the read of a new key. */
const keyCooldownMs = 1_000;

async function discover({ issuer, clock, fetch = globalThis.fetch }: ProviderSettings): Promise<Provider> {
  const isSecure = issuer.protocol === "https:";
  const bounded = boundedFetch(fetch);
  try {
    const oauth = await import("oauth4webapi");
    const options = { [oauth.customFetch]: bounded, [oauth.allowInsecureRequests]: !isSecure };
    const metadata = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options));
    const keysUrl = new URL(metadata.jwks_uri ?? "");
    if (isSecure && keysUrl.protocol !== "https:") throw new TypeError("the key set is not served over HTTPS");
    const keys = createRemoteJWKSet(keysUrl, { [customFetch]: bounded, cooldownDuration: keyCooldownMs });
    return { issuer: metadata.issuer, keys: withProviderFaults(keys), discoveredAtMs: clock.nowMs() };
  } catch (cause) {
    throw new IdentityProviderUnavailable("the identity provider could not be discovered", { cause });
  }
}

/** Without a matching key the token is at fault, else the provider. */
const withProviderFaults =
  (keys: JWTVerifyGetKey): JWTVerifyGetKey =>
  async (header, token) => {
    try {
      return await keys(header, token);
    } catch (cause) {
      if (cause instanceof errors.JWKSNoMatchingKey || cause instanceof errors.JWKSMultipleMatchingKeys) throw cause;
      throw new IdentityProviderUnavailable("the identity provider's keys could not be read", { cause });
    }
  };

/** Without shared secrets: their holder could sign for any person. */
export const algorithms = [
  ...["RS", "PS", "ES"].flatMap((family) => [`${family}256`, `${family}384`, `${family}512`]),
  ...["EdDSA", "Ed25519"],
];

/** The provider's clock differs. */
export const clockToleranceSeconds = 5;

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
    // TypeError: the algorithm does not take the key.
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** OpenID Connect Core 1.0 section 2. A `typ` such as `at+jwt` or `logout+jwt` is no ID token. */
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

/** Section 3.1.3.7: a token for several parties must name this one in `azp`. */
const isAuthorizedParty = ({ aud, azp }: z.output<typeof idTokenClaims>, audience: string): boolean =>
  [aud].flat().length === 1 || azp === audience;

function statedNonce(idToken: string): unknown {
  try {
    return decodeJwt(idToken).nonce;
  } catch {
    return undefined;
  }
}
