import { handlePattern } from "@svc/core";
import type { HopCredential } from "@svc/hop";
import { decodeUnverifiedIssuer, rememberDecoded } from "@svc/tokens";
import { normalAuthority } from "../message/authority.ts";
import { type RawHeaders, valuesOf } from "../message/headers.ts";
import { type Block, type BlockReason, blockedFor } from "../protocols/blocks.ts";

export interface InboundCredentials {
  /** Absent: the call is `unauthorized`. */
  readonly credential?: HopCredential;
  /** Why there is no credential. */
  readonly fault?: BlockReason;
  /** An OAuth client's access token, which an upstream that is a protected resource redeems for the credential. */
  readonly handle?: string;
  /** Why it was not redeemed. */
  readonly unredeemed?: Block;
  /** The application's own `Authorization`. Never one of our tokens. */
  readonly foreignAuthorization?: string;
}

const bearer = /^Bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)$/i;
/** Access and refresh tokens and codes of OAuth clients, under any scheme: no other server may read one. */
const opaqueToken = /svc_(?:at|rt|code)_[A-Za-z0-9_-]{43}/;
const bearerHandle = /^Bearer +(\S+)$/i;

function handleIn(authorization: string): string | undefined {
  const presented = bearerHandle.exec(authorization)?.[1];
  return presented !== undefined && handlePattern.test(presented) ? presented : undefined;
}

/** Why there is no credential, as an answer. */
export const uncredentialed = ({ unredeemed, fault = "no_bearer" }: InboundCredentials): Block =>
  unredeemed ?? blockedFor(fault);

/** The longest token that the control plane reads. */
const maxTokenLength = 16_384;

/** Unverified claims of a presented token, cached: an agent presents the same one for minutes. */
export const presentedClaims = rememberDecoded({ capacity: 256 });

/**
 * The bearer of a request and its session, which the token names itself; the ambient session where the request has
 * neither `X-Svc-Session` nor one of our tokens (docs/reference/enforcement-point.md#ambient-session). The control plane
 * verifies the token that is used.
 */
export function readInboundCredentials(headers: RawHeaders, ambient: HopCredential | undefined): InboundCredentials {
  const authorizations = valuesOf(headers, "authorization");
  const sessions = valuesOf(headers, "x-svc-session");
  // Of two, the next server may read the other (RFC 9110 section 5.3).
  if (authorizations.length > 1 || sessions.length > 1) return { fault: "repeated_credentials" };
  const [authorization] = authorizations;
  const [session] = sessions;
  if (authorization !== undefined && opaqueToken.test(authorization)) {
    const handle = handleIn(authorization);
    return { fault: "other_token", ...(handle !== undefined && { handle }) };
  }
  const token = bearerIn(authorization);
  const named = token === undefined ? undefined : presentedClaims(token)?.sessionId;
  if (token !== undefined && named !== undefined) {
    const agrees = session === undefined || session === named;
    return agrees ? { credential: { sessionId: named, token } } : { fault: "other_session" };
  }
  const fault = faultOf(authorization);
  if (session !== undefined || (token !== undefined && isOfIssuer(token, ambient))) return { fault };
  return {
    ...(ambient ? { credential: ambient } : { fault }),
    ...(authorization !== undefined && { foreignAuthorization: authorization }),
  };
}

function faultOf(authorization: string | undefined): BlockReason {
  if (authorization === undefined) return "no_bearer";
  return /^Bearer(?: |$)/i.test(authorization) ? "other_token" : "other_scheme";
}

function bearerIn(authorization: string | undefined): string | undefined {
  const token = authorization === undefined ? undefined : bearer.exec(authorization)?.[1];
  return token !== undefined && token.length <= maxTokenLength ? token : undefined;
}

/** A token of another kind, that the ambient session's issuer signed. */
function isOfIssuer(token: string, ambient: HopCredential | undefined): boolean {
  const issuer = decodeUnverifiedIssuer(token);
  return issuer !== undefined && ambient !== undefined && issuer === decodeUnverifiedIssuer(ambient.token);
}

export const presentsBearer = (headers: RawHeaders): boolean =>
  valuesOf(headers, "authorization").some((value) => /^Bearer /i.test(value));

/**
 * Whether a browser made the request for a page of another origin: such a page cannot send a bearer unasked
 * (docs/reference/enforcement-point.md#foreign-pages). Pages of this listener, and of the host that is called, are no
 * foreign ones.
 */
export function isOfForeignPage(headers: RawHeaders, own: ReadonlySet<string>): boolean {
  if (presentsBearer(headers)) return false;
  const hosts = valuesOf(headers, "host").map(normalAuthority);
  const isKnown = (origin: string): boolean => {
    const authority = normalAuthority(/^https?:\/\/(.+)$/i.exec(origin)?.[1] ?? "");
    return authority !== undefined && (own.has(authority) || hosts.includes(authority));
  };
  return (
    valuesOf(headers, "sec-fetch-site").some((site) => site.toLowerCase() === "cross-site") ||
    !valuesOf(headers, "origin").every(isKnown)
  );
}
