import type { HopCredential } from "@svc/hop";
import { decodeUnverifiedIssuer, rememberDecoded } from "@svc/tokens";
import { type RawHeaders, valuesOf } from "../message/headers.ts";

/** What a request acts with. */
export interface InboundCredentials {
  /** Absent: the call is `unauthorized`. */
  readonly credential?: HopCredential;
  /** An `Authorization` that is the application's own. Never a bearer of ours. */
  readonly foreignAuthorization?: string;
}

const bearer = /^Bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)$/i;
const sessionId = /^[\x21-\x7e]{1,255}$/;
/** The longest token that the control plane reads. */
const maxTokenLength = 16_384;

/** What a presented token says of itself; an agent shows the same one for minutes. */
export const presentedClaims = rememberDecoded({ capacity: 256 });

/**
 * The bearer and session of a request, or the ambient session for a request that carries neither `X-Svc-Session` nor a
 * bearer of ours (contract: An agent that knows nothing of us). Tokens are only told apart here: the control plane
 * verifies whichever is used.
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

/** Without an ambient session nothing says who our issuer is, but a hop token is known by its shape. */
function isOurs(token: string, ambient: HopCredential | undefined): boolean {
  if (presentedClaims(token) !== undefined) return true;
  const issuer = decodeUnverifiedIssuer(token);
  return issuer !== undefined && ambient !== undefined && issuer === decodeUnverifiedIssuer(ambient.token);
}
