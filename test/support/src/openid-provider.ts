import { type ProviderClient, type ProviderOptions, startProvider } from "@svc/dev/openid-provider";
import { scriptedBrowser } from "@svc/dev/scripted-browser";
import { type JWTPayload, SignJWT } from "jose";

export { people } from "@svc/dev/openid-provider";

/** A real OpenID provider on loopback, that of `svc dev`. It takes any login, and returns `iss` with every code (RFC 9207). */
export interface OpenIdProvider {
  readonly issuer: string;
  /** Signs a person in, by a scripted browser; returns the address that the provider leads back to. */
  logIn(start: URL, person: string): Promise<URL>;
  /** Cancels at the provider's page: `error=access_denied`. */
  cancel(start: URL): Promise<URL>;
  /** A JWT under the provider's key, which the library itself does not issue: an identity assertion. */
  sign(typ: string, claims: JWTPayload): Promise<string>;
  stop(): Promise<void>;
}

/** The client of control planes under test, by default of those on 127.0.0.1 and any port, with `SVC_IDP_CLIENT_ID` and `SVC_IDP_CLIENT_SECRET` of `signInSettings`. */
export const signInClient = (issuer = "http://127.0.0.1"): ProviderClient => ({
  client_id: "control-plane",
  client_secret: "a-secret-of-the-client-in-tests",
  // RFC 8252 section 7.3: a native client's loopback address has any port.
  application_type: issuer === "http://127.0.0.1" ? "native" : "web",
  redirect_uris: [`${issuer}/sign-in/callback`],
});

/** Settings of a control plane whose console `platform` opens for reading, and `owners` as an administrator. */
export const signInSettings = ({ issuer }: Pick<OpenIdProvider, "issuer">) => ({
  SVC_IDP_ISSUER: issuer,
  SVC_IDP_CLIENT_ID: "control-plane",
  SVC_IDP_CLIENT_SECRET: "a-secret-of-the-client-in-tests",
  SVC_CONSOLE_ROLES: "platform=audit,owners=admin",
});

export async function startOpenIdProvider(options: ProviderOptions): Promise<OpenIdProvider> {
  const { issuer, signingKey, stop } = await startProvider(options);
  /** Each time in a new browser. */
  const press = async (start: URL, button: string, fields?: Record<string, string>): Promise<URL> => {
    const browser = scriptedBrowser([issuer]);
    const page = await browser.open(start);
    // Without a page, the provider led back at once.
    const { url, status, html } = page.status === undefined ? page : await browser.press(page, button, fields);
    if (status !== undefined) throw new Error(`${url.pathname} returned ${status} without a redirect: ${html}`);
    return url;
  };
  return {
    issuer,
    logIn: (start, person) => press(start, "Continue", { login: person }),
    cancel: (start) => press(start, "Cancel"),
    async sign(typ, claims) {
      const { privateKey, kid } = await signingKey();
      return new SignJWT(claims).setProtectedHeader({ alg: "RS256", typ, kid }).sign(privateKey);
    },
    stop,
  };
}
