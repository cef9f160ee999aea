import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { openIdProvider } from "../src/identity-provider/openid-provider.ts";
import { IdentityProviderUnavailable } from "../src/ports/identity-provider.ts";

const audience = "agents";
const nonce = "thumbprint-of-the-key";

/** A provider with scripted responses. */
const served = { metadata: answerJson(() => metadata()), keys: answerJson(() => ({ keys: [jwk] })), keyReads: 0 };
type Answer = (response: ServerResponse) => void;

function answerJson(body: () => unknown): Answer {
  return (response) => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body()));
}

const server = createServer((request, response) => {
  if (request.url === "/tenant/.well-known/openid-configuration") return served.metadata(response);
  served.keyReads++;
  served.keys(response);
}).listen(0, "127.0.0.1");
await once(server, "listening");
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const issuer = `${origin}/tenant`;
const metadata = () => ({ issuer, jwks_uri: `${origin}/keys` });

const signer = await generateKeyPair("RS256", { extractable: true });
const jwk = { ...(await exportJWK(signer.publicKey)), kid: "k1", alg: "RS256", use: "sig" };
const otherKeys = await generateKeyPair("RS256");

const startSeconds = Math.floor(Date.now() / 1000);
const clock = { now: startSeconds * 1000, nowMs: () => clock.now };

beforeEach(() => {
  clock.now = startSeconds * 1000;
  Object.assign(served, { metadata: answerJson(metadata), keys: answerJson(() => ({ keys: [jwk] })), keyReads: 0 });
});

interface Token {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: { readonly kid?: string; readonly typ?: string };
  readonly key?: CryptoKey;
}

const idToken = ({ claims = {}, header = {}, key = signer.privateKey }: Token = {}): Promise<string> =>
  new SignJWT(JSON.parse(JSON.stringify({ ...person, ...claims })))
    .setProtectedHeader({ alg: "RS256", kid: "k1", ...header })
    .sign(key);

const person = {
  iss: issuer,
  sub: "ada",
  aud: audience,
  nonce,
  iat: startSeconds,
  exp: startSeconds + 300,
} satisfies JWTPayload;

const provider = (at = issuer) => openIdProvider({ issuer: new URL(at), audience, clock });
const bound = { issuer, subject: "ada" };

describe("an ID token identifies its subject", () => {
  test.each<[string, Token]>([
    ["as providers issue it", {}],
    ["with a typ", { header: { typ: "JWT" } }],
    ["with claims of the provider's own", { claims: { typ: "ID", email: "ada@example.test" } }],
    ["to several parties, issued to us", { claims: { aud: [audience, "other"], azp: audience } }],
    ["to us alone, requested by another party", { claims: { azp: "phone-app" } }],
    ["by a clock 5 s ahead", { claims: { iat: startSeconds + 5 } }],
    ["expired for less than 5 s", { claims: { exp: startSeconds - 4 } }],
  ])("%s", async (_case, token) => {
    expect(await provider().principalOf(await idToken(token), nonce)).toEqual(bound);
  });

  test("also where provider and setting differ in a trailing slash", async () => {
    const atRoot = createServer((_request, response) => served.metadata(response)).listen(0, "127.0.0.1");
    await once(atRoot, "listening");
    const root = `http://127.0.0.1:${(atRoot.address() as AddressInfo).port}`;
    served.metadata = answerJson(() => ({ issuer: root, jwks_uri: `${origin}/keys` }));
    const token = await idToken({ claims: { iss: root } });
    expect(await provider(`${root}/`).principalOf(token, nonce)).toEqual({ issuer: root, subject: "ada" });
    atRoot.closeAllConnections();
    atRoot.close();
  });
});

describe("an ID token is rejected", () => {
  test.each<[string, Token]>([
    ["by another key under a published kid", { key: otherKeys.privateKey }],
    ["by a key that is not published", { header: { kid: "k2" } }],
    ["of another issuer", { claims: { iss: "https://elsewhere.test" } }],
    ["without an issuer", { claims: { iss: undefined } }],
    ["to another audience", { claims: { aud: "other" } }],
    ["without an audience", { claims: { aud: undefined } }],
    ["to several parties, without azp", { claims: { aud: [audience, "other"] } }],
    ["to several parties, issued to another", { claims: { aud: [audience, "other"], azp: "other" } }],
    ["expired", { claims: { exp: startSeconds - 5 } }],
    ["without an expiry", { claims: { exp: undefined } }],
    ["issued in the future", { claims: { iat: startSeconds + 6 } }],
    ["without a time of issue", { claims: { iat: undefined } }],
    ["not valid yet", { claims: { nbf: startSeconds + 6 } }],
    ["for another key", { claims: { nonce: "other" } }],
    ["for no key", { claims: { nonce: undefined } }],
    ["without a subject", { claims: { sub: undefined } }],
    ["with an empty subject", { claims: { sub: "" } }],
    ["with a NUL in its subject", { claims: { sub: "ada\0" } }],
    ["that is an access token", { header: { typ: "at+jwt" } }],
    ["that is a logout token", { header: { typ: "logout+jwt" } }],
  ])("%s", async (_case, token) => {
    expect(await provider().principalOf(await idToken(token), nonce)).toBeUndefined();
  });

  test("unsigned, or signed with the public key as a shared secret", async () => {
    const unsigned = new UnsecuredJWT({ ...person }).encode();
    const secret = new TextEncoder().encode(await exportSPKI(signer.publicKey));
    const shared = await new SignJWT({ ...person }).setProtectedHeader({ alg: "HS256", kid: "k1" }).sign(secret);
    for (const token of [unsigned, shared]) expect(await provider().principalOf(token, nonce)).toBeUndefined();
  });

  test.each(["", "x", "x.y.z", "a.b.c.d.e"])("%j, without a request to the provider", async (text) => {
    served.metadata = (response) => response.destroy();
    expect(await provider().principalOf(text, nonce)).toBeUndefined();
  });
});

describe("a faulty response of the provider is an outage, not a rejection", () => {
  const faults: [string, Answer][] = [
    ["an error", (response) => response.writeHead(500).end()],
    ["a redirect", (response) => response.writeHead(302, { location: `${origin}/keys` }).end()],
    ["a page", (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>")],
    ["half a document", (response) => response.writeHead(200, { "content-type": "application/json" }).end('{"keys":')],
    ["a broken connection", (response) => response.destroy()],
    ["no response in time", () => {}],
    [
      "more than 1 MiB",
      (response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(
          `${JSON.stringify({ ...metadata(), keys: [jwk] }).slice(0, -1)},"pad":"${"x".repeat(1_048_576)}"}`,
        );
      },
    ],
  ];

  test.each(faults)("metadata: %s", async (_case, answer) => {
    served.metadata = answer;
    await expect(provider().principalOf(await idToken(), nonce)).rejects.toThrow(IdentityProviderUnavailable);
  });

  test.each(faults)("keys: %s", async (_case, answer) => {
    served.keys = answer;
    await expect(provider().principalOf(await idToken(), nonce)).rejects.toThrow(IdentityProviderUnavailable);
  });

  test.each([
    ["of another issuer", () => ({ ...metadata(), issuer: `${origin}/other` })],
    ["without a key set", () => ({ issuer })],
    ["whose key set is no URL", () => ({ issuer, jwks_uri: "keys" })],
  ])("metadata %s", async (_case, document) => {
    served.metadata = answerJson(document);
    await expect(provider().principalOf(await idToken(), nonce)).rejects.toThrow(IdentityProviderUnavailable);
  });

  test("keys without TLS of an issuer with TLS", async () => {
    const secure = new URL("https://idp.test");
    const documents: Record<string, unknown> = {
      "https://idp.test/.well-known/openid-configuration": {
        issuer: "https://idp.test",
        jwks_uri: "http://idp.test/keys",
      },
      "http://idp.test/keys": { keys: [jwk] },
    };
    const fetch = async (url: unknown) => Response.json(documents[String(url)]);
    const client = openIdProvider({ issuer: secure, audience, clock, fetch });
    const token = await idToken({ claims: { iss: "https://idp.test" } });
    await expect(client.principalOf(token, nonce)).rejects.toThrow(IdentityProviderUnavailable);
  });

  test("the next call requests the metadata again", async () => {
    const client = provider();
    served.metadata = (response) => response.writeHead(500).end();
    await expect(client.principalOf(await idToken(), nonce)).rejects.toThrow(IdentityProviderUnavailable);
    served.metadata = answerJson(metadata);
    expect(await client.principalOf(await idToken(), nonce)).toEqual(bound);
  });
});

test("keys are read once for many tokens, and the metadata again after an hour", async () => {
  const client = provider();
  const tokens = await Promise.all(Array.from({ length: 10 }, () => idToken()));
  await Promise.all(tokens.map((token) => client.principalOf(token, nonce)));
  expect(served.keyReads).toBe(1);
  served.metadata = answerJson(() => ({ issuer, jwks_uri: `${origin}/moved` }));
  clock.now += 3_600_000;
  const later = { iat: startSeconds + 3_600, exp: startSeconds + 3_900 };
  expect(await client.principalOf(await idToken({ claims: later }), nonce)).toEqual(bound);
  expect(served.keyReads).toBe(2);
});
