import { timingSafeEqual } from "node:crypto";
import { ClientUnusable, type OAuthClient } from "../ports/oauth-clients.ts";
import type { OAuthSettings } from "./consent-deps.ts";
import { sha256 } from "./secrets.ts";

/** One of the settings, else the one whose document the id names. @throws {ClientUnusable} */
export async function findClient(
  { clients, readClientDocument }: OAuthSettings,
  clientId: string | undefined,
): Promise<OAuthClient> {
  if (clientId === undefined) throw new ClientUnusable("The request names no client_id.");
  return clients.get(clientId) ?? readClientDocument(clientId);
}

/** What the token endpoint must know of a client. */
export type TokenClient = Pick<OAuthClient, "clientId" | "secretHash" | "agent">;

/**
 * One of the settings, or a public client by the address of its document, which is not read again: the grant
 * names the client that it was made for.
 */
export const tokenClient = ({ clients }: OAuthSettings, clientId: string): TokenClient | undefined =>
  clients.get(clientId) ?? (URL.canParse(clientId) ? { clientId } : undefined);

const loopback = /^(http:\/\/(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost))(?::\d+)?(?=[/?]|$)/;

/** Text by text, but for the port of a loopback address (RFC 8252 section 7.3, RFC 9700 section 4.1.3). */
export const isRegistered = ({ redirectUris }: OAuthClient, redirectUri: string): boolean =>
  URL.canParse(redirectUri) &&
  redirectUris.some((registered) => withoutLoopbackPort(registered) === withoutLoopbackPort(redirectUri));

const withoutLoopbackPort = (uri: string): string => uri.replace(loopback, "$1");

/** `client_secret_basic`, `client_secret_post`, or `none` for a public client (RFC 6749 section 2.3). */
export interface PresentedClient {
  readonly clientId: string | undefined;
  readonly secret: string | undefined;
}

/** Undefined where two ways of naming the client disagree, or the header is malformed. */
export function presentedClient(
  fields: ReadonlyMap<string, string>,
  authorization: string | null,
): PresentedClient | undefined {
  const sent = { clientId: fields.get("client_id") || undefined, secret: fields.get("client_secret") || undefined };
  if (authorization === null) return sent;
  const basic = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization)?.[1];
  if (basic === undefined || sent.secret !== undefined) return undefined;
  const [id = "", ...secret] = Buffer.from(basic, "base64").toString("utf8").split(":");
  try {
    const header = { clientId: decoded(id), secret: decoded(secret.join(":")) };
    return sent.clientId === undefined || sent.clientId === header.clientId ? header : undefined;
  } catch {
    return undefined;
  }
}

/** RFC 6749 section 2.3.1: both are form-encoded. */
const decoded = (text: string): string => decodeURIComponent(text.replaceAll("+", " "));

export function isAuthentic({ secretHash }: TokenClient, secret: string | undefined): boolean {
  if (secretHash === undefined) return secret === undefined;
  return secret !== undefined && timingSafeEqual(secretHash, sha256(secret));
}
