import { scopeName } from "@svc/core";
import { ClientUnusable, type OAuthClient } from "../ports/oauth-clients.ts";
import { findClient, isRegistered } from "./clients.ts";
import type { OAuthSettings } from "./consent-deps.ts";
import type { ClientRequest } from "./questions.ts";

/** Errors of the authorization endpoint (RFC 6749 section 4.1.2.1, RFC 8707 section 2). */
export type AuthorizeError =
  | "invalid_request"
  | "unsupported_response_type"
  | "invalid_scope"
  | "invalid_target"
  | "access_denied"
  | "server_error";

export type AuthorizeReading =
  | {
      readonly kind: "request";
      readonly client: OAuthClient;
      readonly request: ClientRequest;
      readonly scopes: readonly string[];
    }
  /** Nothing is trusted enough to send the browser anywhere: the person sees the sentence. */
  | { readonly kind: "unusable"; readonly why: string }
  /** The browser takes the error to the client, at its redirect address. */
  | {
      readonly kind: "refused";
      readonly error: AuthorizeError;
      readonly why: string;
      readonly redirectUri: string;
      readonly state: string | null;
    };

const pkceChallenge = /^[A-Za-z0-9_-]{43}$/;
const maxStateLength = 2_048;
const mostScopes = 8;

/** Reads a request of the authorization endpoint; parameters that are not known are ignored (RFC 6749 section 3.1). */
export async function readAuthorizeRequest(
  settings: OAuthSettings,
  query: Readonly<Record<string, string>>,
): Promise<AuthorizeReading> {
  // An empty value counts as omitted.
  const field = (name: string): string | undefined => query[name] || undefined;
  let client: OAuthClient;
  try {
    client = await findClient(settings, field("client_id"));
  } catch (error) {
    if (error instanceof ClientUnusable) return { kind: "unusable", why: error.message };
    throw error;
  }
  const redirectUri = field("redirect_uri") ?? onlyOf(client.redirectUris);
  if (redirectUri === undefined || !isRegistered(client, redirectUri)) {
    return {
      kind: "unusable",
      why: `${client.name} did not register the address that its request wants to return to.`,
    };
  }
  const state = field("state") ?? null;
  const refused = (error: AuthorizeError, why: string) =>
    ({ kind: "refused", error, why, redirectUri, state }) as const;
  if (state !== null && state.length > maxStateLength)
    return { ...refused("invalid_request", "state is too long"), state: null };
  if (field("response_type") !== "code") return refused("unsupported_response_type", "response_type must be code");
  if (field("code_challenge_method") !== "S256")
    return refused("invalid_request", "code_challenge_method must be S256");
  const challenge = field("code_challenge") ?? "";
  if (!pkceChallenge.test(challenge))
    return refused("invalid_request", "code_challenge must be a SHA-256 in base64url");
  const resource = field("resource");
  if (resource === undefined || !isGuarded(settings, resource)) {
    return refused("invalid_target", "resource must be the address of a resource that this server guards");
  }
  const scopes = scopesIn(field("scope") ?? client.scope);
  if (scopes === undefined) return refused("invalid_scope", "scope must name what the resource's challenge names");
  return {
    kind: "request",
    client,
    scopes,
    request: { clientId: client.clientId, redirectUri, resource, challenge, state },
  };
}

const onlyOf = ([first, ...others]: readonly string[]): string | undefined => (others.length === 0 ? first : undefined);

/** An absolute URI without a fragment (RFC 8707 section 2) that the settings list, or that lies below one they list. */
export function isGuarded({ resources }: Pick<OAuthSettings, "resources">, resource: string): boolean {
  const url = URL.parse(resource);
  if (
    url === null ||
    resource.includes("#") ||
    url.username !== "" ||
    url.password !== "" ||
    /\/\.\.?(?:\/|$)/.test(resource)
  )
    return false;
  return resources.some(({ origin, pathname }) => {
    const base = pathname.replace(/\/$/, "");
    return url.origin === origin && (url.pathname === base || url.pathname.startsWith(`${base}/`));
  });
}

/** Each once, in their order; undefined without one, for too many, and for what is no scope's name. */
export function scopesIn(text: string | undefined): readonly string[] | undefined {
  const names = [...new Set((text ?? "").split(" "))].filter((name) => name !== "" && name !== "offline_access");
  const isFine =
    names.length > 0 && names.length <= mostScopes && names.every((name) => scopeName.safeParse(name).success);
  return isFine ? names : undefined;
}

/** The redirect address with the members of an answer, and the issuer (RFC 9207). */
export function redirectWith(
  redirectUri: string,
  issuer: string,
  members: Readonly<Record<string, string | null>>,
): string {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries({ ...members, iss: issuer })) {
    if (value !== null) url.searchParams.append(name, value);
  }
  return url.href;
}
