import type { SetError } from "@svc/core";
import { decodeObject } from "@svc/tokens";
import { errors, jwtVerify } from "jose";
import { z } from "zod";
import type { SecurityEvent, SecurityEvents, SetRefused } from "../ports/security-events.ts";
import {
  algorithms,
  clockToleranceSeconds,
  discoveredProvider,
  type Provider,
  type ProviderSettings,
} from "./openid-provider.ts";

interface SecurityEventSettings extends ProviderSettings {
  /** `aud` of the tokens. */
  readonly audience: string;
}

/** OpenID Shared Signals Framework 1.0, "Explicit Typing of SETs": tells it from every other token. */
const setType = "secevent+jwt";

/** One event, although RFC 8417 allows several. `exp` and `sub` must be absent (Shared Signals Framework 1.0). */
const setClaims = z.object({
  iat: z.int().min(0),
  jti: z.string().min(1).max(255),
  exp: z.undefined("must be absent").optional(),
  sub: z.undefined("must be absent").optional(),
  sub_id: z.unknown(),
  events: z
    .record(z.string(), z.record(z.string(), z.unknown()))
    .refine((events) => Object.keys(events).length === 1, "must hold exactly one event"),
});

/** Security event tokens that the configured provider signed for one audience. */
export function securityEvents(settings: SecurityEventSettings): SecurityEvents {
  const provider = discoveredProvider(settings);
  return { verify: async (token) => verify(await provider(), token, settings) };
}

async function verify(
  { issuer, keys }: Provider,
  token: string,
  { audience, clock }: SecurityEventSettings,
): Promise<SecurityEvent | SetRefused> {
  const [header = "", payload = ""] = token.split(".");
  const claims = decodeObject(payload);
  if (decodeObject(header) === undefined || claims === undefined) {
    return refused("invalid_request", "The body must be one signed token whose JSON repeats no member.");
  }
  const now = clock.nowMs();
  try {
    await jwtVerify(token, keys, { algorithms, issuer, audience, typ: setType, currentDate: new Date(now) });
  } catch (error) {
    return refusalOf(error);
  }
  const read = setClaims.safeParse(claims);
  if (!read.success) return refused("invalid_request", describe(read.error));
  const { iat, jti, sub_id: subject, events } = read.data;
  if (iat > now / 1000 + clockToleranceSeconds) return refused("invalid_request", "iat: must not be in the future");
  const [[type, event] = ["", {}]] = Object.entries(events);
  return { kind: "event", issuer, jti, issuedAtMs: iat * 1000, type, event, subject };
}

/** A bad token is its sender's fault; every other error is thrown. */
function refusalOf(error: unknown): SetRefused {
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim } = error;
    if (claim === "iss") return refused("invalid_issuer", "The token is not of the configured identity provider.");
    if (claim === "aud") return refused("invalid_audience", "The token is not for this service.");
    if (claim === "typ") return refused("invalid_request", `typ: must be ${setType}`);
    return refused("invalid_request", `${claim}: must be absent or valid`);
  }
  if (isOfKey(error))
    return refused("invalid_key", "The signature is not by a key of the configured identity provider.");
  // TypeError: the algorithm does not take the key.
  if (error instanceof errors.JOSEError || error instanceof TypeError) {
    return refused("invalid_request", "The token is not signed by an algorithm that is accepted here.");
  }
  throw error;
}

const isOfKey = (error: unknown): boolean =>
  error instanceof errors.JWSSignatureVerificationFailed ||
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys;

const refused = (err: SetError, description: string): SetRefused => ({ kind: "refused", err, description });

/** Names the claim and the rule, never the value. */
const describe = ({ issues: [issue] }: z.ZodError): string =>
  issue === undefined
    ? "The claims are not valid."
    : `${issue.path.map(String).join(".").slice(0, 200)}: ${issue.message}`;
