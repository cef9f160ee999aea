import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { type PersonLoginSettings, personLogin } from "../src/identity-provider/person-login.ts";

export type Answer = (response: ServerResponse, request: IncomingMessage, body: string) => void;

export const json =
  (body: () => unknown, status = 200): Answer =>
  (response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body()));

/** An OpenID provider whose every response is scripted. */
export async function startScriptedProvider() {
  const keys = await generateKeyPair("RS256", { extractable: true });
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: "k1", alg: "RS256", use: "sig" };
  const received: { path: string; authorization: string | undefined; body: string }[] = [];
  const routes: Record<string, Answer> = {};
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    const path = request.url ?? "";
    received.push({ path, authorization: request.headers.authorization, body });
    routes[path]?.(response, request, body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/keys`,
    id_token_signing_alg_values_supported: ["RS256"],
  };

  const idToken = async (
    claims: object = {},
    key: CryptoKey = keys.privateKey,
    header: object = {},
  ): Promise<string> => {
    const nowSeconds = Math.floor(Date.now() / 1000);
    const person = { iss: issuer, sub: "ada", aud: "svc", iat: nowSeconds, exp: nowSeconds + 300 };
    return new SignJWT(JSON.parse(JSON.stringify({ ...person, ...claims })))
      .setProtectedHeader({ alg: "RS256", kid: "k1", ...header })
      .sign(key);
  };

  function reset(): void {
    received.length = 0;
    Object.assign(routes, {
      "/.well-known/openid-configuration": json(() => metadata),
      "/keys": json(() => ({ keys: [jwk] })),
      "/userinfo": json(() => ({ sub: "ada" })),
    });
  }
  reset();
  return {
    issuer,
    metadata,
    jwk,
    received,
    routes,
    reset,
    idToken,
    /** The token endpoint answers with this ID token. */
    issues(token: string | undefined, more: object = {}): void {
      routes["/token"] = json(() => ({ access_token: "at", token_type: "Bearer", id_token: token, ...more }));
    },
    login: (settings: Partial<PersonLoginSettings> = {}) =>
      personLogin({
        issuer: new URL(issuer),
        clientId: "svc",
        clientSecret: "s:e c",
        callback: new URL("https://plane.test/sign-in/callback"),
        rolesClaim: "groups",
        clock: { nowMs: () => Date.now() },
        ...settings,
      }),
    stop(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}
