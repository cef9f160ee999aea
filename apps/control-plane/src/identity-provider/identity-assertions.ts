import { userSub } from "@svc/core";
import { errors, jwtVerify } from "jose";
import { z } from "zod";
import type { IdentityAssertion, IdentityAssertions } from "../ports/identity-provider.ts";
import {
  algorithms,
  clockToleranceSeconds,
  discoveredProvider,
  type Provider,
  type ProviderSettings,
} from "./openid-provider.ts";

/** draft-ietf-oauth-identity-assertion-authz-grant section 5: the header's `typ` tells it from an ID token. */
const assertionType = "oauth-id-jag+jwt";
/** Longer ago than an assertion lives: a provider that issues such is not believed. */
const longestLife = "1h";

const assertionClaims = z.object({
  sub: userSub,
  client_id: z.string().min(1).max(2_048),
  jti: z.string().min(1).max(255),
  resource: z.string().max(2_048).optional(),
  scope: z.string().max(4_096).optional(),
});

/** Identity assertions that the configured provider signed for one audience: this server's issuer. */
export function identityAssertions(settings: ProviderSettings): IdentityAssertions {
  const provider = discoveredProvider(settings);
  return { verify: async (assertion, audience) => verify(await provider(), assertion, audience, settings) };
}

async function verify(
  { issuer, keys }: Provider,
  assertion: string,
  audience: string,
  { clock }: ProviderSettings,
): Promise<IdentityAssertion | undefined> {
  try {
    const { payload } = await jwtVerify(assertion, keys, {
      algorithms,
      issuer,
      audience,
      typ: assertionType,
      requiredClaims: ["sub", "exp", "iat", "jti"],
      maxTokenAge: longestLife,
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(clock.nowMs()),
    });
    const claims = assertionClaims.safeParse(payload).data;
    // RFC 7523 section 3: for one audience, or another server could use it here.
    if (claims === undefined || [payload.aud].flat().length !== 1) return undefined;
    const { sub: subject, client_id: clientId, jti, resource, scope } = claims;
    return { issuer, subject, clientId, jti, resource, scope };
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
    throw error;
  }
}
