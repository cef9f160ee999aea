/** An upstream that OAuth clients log in to (RFC 9728; docs/reference/enforcement-point.md#protected-resources). */
export interface ProtectedResource {
  /** Its identifier, an absolute URL: what a client calls, and the audience of its access tokens. */
  readonly uri: string;
  /** The address of its metadata document. */
  readonly metadata: string;
  /** Consent scopes that its calls need, the session's own first. */
  readonly scopes: readonly string[];
}

interface OAuthSettings {
  readonly scope: string | readonly string[];
}

/** In front of the resource's own path (RFC 9728 section 3). */
export const wellKnownResource = "/.well-known/oauth-protected-resource";

/** @param publicUrl where clients reach the enforcement point; undefined: nothing here is a protected resource */
export function protectedResourceOf(
  { name, oauth }: { readonly name: string; readonly oauth?: OAuthSettings | undefined },
  publicUrl: URL | undefined,
): ProtectedResource | undefined {
  if (oauth === undefined || publicUrl === undefined) return undefined;
  const path = `${publicUrl.pathname.replace(/\/$/, "")}/${name}`;
  return {
    uri: publicUrl.origin + path,
    metadata: publicUrl.origin + wellKnownResource + path,
    scopes: [oauth.scope].flat(),
  };
}
