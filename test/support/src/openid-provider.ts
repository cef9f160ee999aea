import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import Provider, { type ClientMetadata } from "oidc-provider";

/** A real OpenID provider on loopback. It takes any password, and returns `iss` with every code (RFC 9207). */
export interface OpenIdProvider {
  readonly issuer: string;
  /** Signs a person in and consents, by a scripted browser; returns the address that the provider leads back to. */
  logIn(start: URL, person: string): Promise<URL>;
  /** Cancels at the provider's first page: `error=access_denied`. */
  cancel(start: URL): Promise<URL>;
  /** A JWT under the provider's key, which the library itself does not issue: an identity assertion. */
  sign(typ: string, claims: JWTPayload): Promise<string>;
  stop(): Promise<void>;
}

/** People of the provider. Any other login is a person without name and groups. */
export const people: Readonly<Record<string, { name: string; email: string; groups: readonly string[] }>> = {
  ada: { name: "Ada Lovelace", email: "ada@people.test", groups: ["platform"] },
  ben: { name: "Ben Bitdiddle", email: "ben@people.test", groups: ["support"] },
};

/** The client of control planes under test, by default of those on 127.0.0.1 and any port, with `SVC_IDP_CLIENT_ID` and `SVC_IDP_CLIENT_SECRET` of `signInSettings`. */
export const signInClient = (issuer = "http://127.0.0.1"): ClientMetadata => ({
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

interface Options {
  readonly clients: ClientMetadata[];
  /** 0, by default, takes a free one. */
  readonly port?: number;
}

export async function startOpenIdProvider({ clients, port = 0 }: Options): Promise<OpenIdProvider> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const kid = "signing";
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: "RS256", use: "sig", kid }] },
    clients,
    claims: { profile: ["name"], email: ["email"], groups: ["groups"] },
    scopes: ["openid", "profile", "email", "groups"],
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub, ...people[sub] }) }),
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 60, AuthorizationCode: 60, IdToken: 300 },
    cookies: { keys: ["a key of the tests"] },
  });
  server.on("request", provider.callback());
  return {
    issuer,
    logIn: (start, person) => walk(start, [{ prompt: "login", login: person, password: "any" }, { prompt: "consent" }]),
    cancel: (start) => walk(start, []),
    sign: (typ, claims) => new SignJWT(claims).setProtectedHeader({ alg: "RS256", typ, kid }).sign(privateKey),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Acts as a browser at the provider: follows redirects with cookies, and fills in its forms, or cancels without one. */
async function walk(start: URL, forms: Record<string, string>[]): Promise<URL> {
  const cookies = new Map<string, string>();
  const send = async (url: URL, form?: Record<string, string>): Promise<URL> => {
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(form && { method: "POST", body: new URLSearchParams(form) }),
    });
    for (const set of response.headers.getSetCookie()) {
      const [name = "", value = ""] = (set.split(";")[0] ?? "").split(/=(.*)/s);
      cookies.set(name, value);
    }
    await response.body?.cancel();
    const location = response.headers.get("location");
    if (location === null) throw new Error(`${url.pathname} returned ${response.status} without a redirect`);
    return new URL(location, url);
  };
  let url = await send(start);
  while (url.origin === start.origin) {
    const isForm = url.pathname.startsWith("/interaction/");
    const form = isForm ? forms.shift() : undefined;
    url = isForm && form === undefined ? await send(new URL(`${url.pathname}/abort`, url)) : await send(url, form);
  }
  return url;
}
