import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type Provider from "oidc-provider";
import type { KoaContextWithOIDC } from "oidc-provider";
import { choicePage, errorPage, startPage } from "./page.ts";
import { people } from "./people.ts";

export { people };

/** A client of the provider (OpenID Connect Dynamic Client Registration 1.0 section 2). */
export interface ProviderClient {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly redirect_uris: string[];
  /** `native`: a loopback redirect address has any port (RFC 8252 section 7.3). */
  readonly application_type?: "native" | "web";
  /** `none` for a public client. */
  readonly token_endpoint_auth_method?: "client_secret_basic" | "none";
}

export interface ProviderOptions {
  readonly clients: readonly ProviderClient[];
  /** 0, by default, takes a free one. */
  readonly port?: number;
}

const kid = "signing";

/**
 * For development and tests: an OpenID provider on loopback that asks for no password. It forgets everything at its end,
 * and loads its library at the first request.
 */
export async function startProvider({ clients, port = 0 }: ProviderOptions) {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let loading: ReturnType<typeof load> | undefined;
  const loaded = () => {
    loading ??= load(issuer, clients);
    return loading;
  };
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { pathname } = new URL(request.url ?? "/", issuer);
    if (pathname === "/livez") return void response.end("ok");
    if (pathname === "/") return show(response, 200, startPage());
    request.headers.cookie = withoutSession(request.headers.cookie);
    loaded()
      .then(({ provider, callback }) => {
        if (pathname.startsWith("/interaction/")) return interact(provider, request, response);
        return callback(request, response);
      })
      .catch((cause: unknown) => {
        show(response, 400, errorPage(cause instanceof Error ? cause.message : String(cause)));
      });
  });
  return {
    issuer,
    /** What it signs with, as RS256. */
    async signingKey() {
      return { privateKey: (await loaded()).privateKey, kid };
    },
    async stop(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function load(issuer: string, clients: readonly ProviderClient[]) {
  const [{ default: OidcProvider }, { exportJWK, generateKeyPair }] = await Promise.all([
    import("oidc-provider"),
    import("jose"),
  ]);
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const provider = new OidcProvider(issuer, {
    clients: clients.map((client) => ({ ...client })),
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: "RS256", use: "sig", kid }] },
    claims: { profile: ["name"], email: ["email"], groups: ["groups"] },
    scopes: ["openid", "profile", "email", "groups"],
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub, ...people[sub] }) }),
    loadExistingGrant: grantEverything,
    features: { devInteractions: { enabled: false } },
    renderError: (ctx, { error, error_description: description }) => {
      ctx.type = "html";
      ctx.body = errorPage(error, description);
    },
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 60, AuthorizationCode: 60, IdToken: 300 },
    cookies: { keys: [randomBytes(32).toString("base64url")] },
  });
  return { provider, callback: provider.callback(), privateKey };
}

/** Each sign-in chooses its person anew: with a session, the next one would be the last one's. */
const withoutSession = (cookies = ""): string =>
  cookies
    .split(/; */)
    .filter((cookie) => !/^_session[.=]/.test(cookie))
    .join("; ");

/** The consent is the business of the service under development, not of this provider. */
async function grantEverything({ oidc }: KoaContextWithOIDC) {
  const { client, session, provider } = oidc;
  if (client === undefined || session?.accountId === undefined) return undefined;
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope("openid profile email groups");
  await grant.save();
  return grant;
}

/** The page on which a person chooses who it is, and its answer. */
async function interact(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") {
    await provider.interactionDetails(request, response);
    return show(response, 200, choicePage());
  }
  const form = new URLSearchParams(Buffer.concat(await request.toArray()).toString("utf8"));
  const login = form.get("login");
  // `consent` too: a native client is to be confirmed by its person (RFC 8252 section 8.6).
  const result =
    login === null
      ? { error: "access_denied", error_description: "The person cancelled." }
      : { login: { accountId: login }, consent: {} };
  await provider.interactionFinished(request, response, result);
}

function show(response: ServerResponse, status: number, html: string): void {
  const security = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
  response.writeHead(status, { "content-type": "text/html; charset=utf-8", "content-security-policy": security });
  response.end(html);
}
