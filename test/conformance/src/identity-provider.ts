import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";
import * as client from "openid-client";

/** A real OpenID provider on loopback that signs ID tokens for any login. */
export interface IdentityProvider {
  readonly issuer: string;
  readonly audience: string;
  /** Logs a person in by the authorization code flow and returns the ID token with this `nonce`. */
  idToken(person: string, nonce: string): Promise<string>;
  /** Stops serving. */
  stop(): Promise<void>;
}

const clientId = "agent-enrollment";
const redirectUri = "https://workstation.test/callback";

export async function startIdentityProvider(): Promise<IdentityProvider> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: "RS256", use: "sig" }] },
    clients: [{ client_id: clientId, redirect_uris: [redirectUri], token_endpoint_auth_method: "none" }],
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    ttl: { Interaction: 60, Session: 60, Grant: 60, AccessToken: 60, AuthorizationCode: 60, IdToken: 300 },
    cookies: { keys: ["a key of the tests"] },
  });
  server.on("request", provider.callback());
  const config = await client.discovery(new URL(issuer), clientId, undefined, client.None(), {
    execute: [client.allowInsecureRequests],
  });
  return {
    issuer,
    audience: clientId,
    async idToken(person, nonce) {
      const verifier = client.randomPKCECodeVerifier();
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: "openid",
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
      });
      const callback = await logIn(url, person);
      const tokens = await client.authorizationCodeGrant(config, callback, {
        pkceCodeVerifier: verifier,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      return tokens.id_token ?? "";
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Acts as a browser: follows redirects with cookies, and fills in the provider's two forms. */
async function logIn(start: URL, person: string): Promise<URL> {
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
  const prompts: Record<string, string>[] = [
    { prompt: "login", login: person, password: "any" },
    { prompt: "consent" },
  ];
  let url = await send(start);
  while (url.origin === start.origin) {
    url = await send(url, url.pathname.startsWith("/interaction/") ? prompts.shift() : undefined);
  }
  return url;
}
