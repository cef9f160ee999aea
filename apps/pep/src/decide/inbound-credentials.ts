import type { HopCredential } from "@svc/hop";
import { decodeUnverifiedIssuer, rememberDecoded } from "@svc/tokens";
import { type RawHeaders, valuesOf } from "../message/headers.ts";

export interface InboundCredentials {
  /** Absent: the call is `unauthorized`. */
  readonly credential?: HopCredential;
  /** The application's own `Authorization`. Never one of our tokens. */
  readonly foreignAuthorization?: string;
}

const bearer = /^Bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)$/i;
const sessionId = /^[\x21-\x7e]{1,255}$/;
/** The longest token that the control plane reads. */
const maxTokenLength = 16_384;

/** Unverified claims of a presented token, cached: an agent presents the same one for minutes. */
export const presentedClaims = rememberDecoded({ capacity: 256 });

/**
 * The bearer and session of a request; the ambient session where it has neither `X-Svc-Session` nor one of our tokens
 * (docs/reference/enforcement-point.md#ambient-session). The control plane verifies the token that is used.
 */
export function readInboundCredentials(headers: RawHeaders, ambient: HopCredential | undefined): InboundCredentials {
  const authorizations = valuesOf(headers, "authorization");
  const sessions = valuesOf(headers, "x-svc-session");
  // Of two, the next server may read the other (RFC 9110 section 5.3).
  if (authorizations.length > 1 || sessions.length > 1) return {};
  const [authorization] = authorizations;
  const [session] = sessions;
  const token = bearerIn(authorization);
  if (session !== undefined) {
    return token !== undefined && sessionId.test(session) ? { credential: { sessionId: session, token } } : {};
  }
  if (token !== undefined && isOurs(token, ambient)) return {};
  return {
    ...(ambient && { credential: ambient }),
    ...(authorization !== undefined && { foreignAuthorization: authorization }),
  };
}

function bearerIn(authorization: string | undefined): string | undefined {
  const token = authorization === undefined ? undefined : bearer.exec(authorization)?.[1];
  return token !== undefined && token.length <= maxTokenLength ? token : undefined;
}

/** A hop token is recognized by its shape, any other token by the ambient session's issuer. */
function isOurs(token: string, ambient: HopCredential | undefined): boolean {
  if (presentedClaims(token) !== undefined) return true;
  const issuer = decodeUnverifiedIssuer(token);
  return issuer !== undefined && ambient !== undefined && issuer === decodeUnverifiedIssuer(ambient.token);
}
