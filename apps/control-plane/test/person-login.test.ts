import { generateKeyPair, UnsecuredJWT } from "jose";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { PersonLoginSettings } from "../src/identity-provider/person-login.ts";
import { IdentityProviderUnavailable } from "../src/ports/identity-provider.ts";
import type { LoginEnd } from "../src/ports/person-login.ts";
import { type Answer, json, startScriptedProvider } from "./scripted-provider.ts";

const provider = await startScriptedProvider();
afterAll(() => provider.stop());
beforeEach(() => provider.reset());
const otherKeys = await generateKeyPair("RS256");

const begun = { state: "s".repeat(43), nonce: "n".repeat(43), verifier: "v".repeat(43) };
const query = new URLSearchParams({ code: "c", state: begun.state });
const nonce = begun.nonce;

const complete = (settings: Partial<PersonLoginSettings> = {}): Promise<LoginEnd> =>
  provider.login(settings).complete(query, begun);

describe("the request to the provider", () => {
  const addressWith = async (metadata: object, settings: Partial<PersonLoginSettings> = {}) => {
    provider.routes["/.well-known/openid-configuration"] = json(() => ({ ...provider.metadata, ...metadata }));
    return (await provider.login(settings).begin({ again: false })).address.searchParams;
  };

  test("asks for a code with PKCE, state and nonce, each new", async () => {
    const login = provider.login();
    const [one, other] = [await login.begin({ again: false }), await login.begin({ again: true })];
    const { searchParams } = one.address;
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: "code",
      client_id: "svc",
      redirect_uri: "https://plane.test/sign-in/callback",
      state: one.state,
      nonce: one.nonce,
      code_challenge_method: "S256",
    });
    expect(one.address.href).not.toContain(one.verifier);
    expect(searchParams.has("prompt")).toBe(false);
    expect(other.address.searchParams.get("prompt")).toBe("login");
    const secrets = [one.state, one.nonce, one.verifier, other.state, other.nonce, other.verifier];
    expect(new Set(secrets).size).toBe(6);
    for (const secret of secrets) expect(secret).toMatch(/^[\w-]{43}$/);
  });

  test.each([
    ["without a list", {}, "openid profile email"],
    ["of some", { scopes_supported: ["openid", "email"] }, "openid email"],
    ["with the claim's", { scopes_supported: ["openid", "profile", "email", "groups"] }, "openid profile email groups"],
  ])("names the provider's scopes: %s", async (_name, metadata, scope) => {
    expect((await addressWith(metadata)).get("scope")).toBe(scope);
  });

  test("does not ask for a scope of roles where none is configured", async () => {
    const scopes_supported = ["openid", "groups"];
    expect((await addressWith({ scopes_supported }, { rolesClaim: undefined })).get("scope")).toBe("openid");
  });
});

describe("the client's secret", () => {
  const sent = async (metadata: object, settings: Partial<PersonLoginSettings> = {}) => {
    provider.routes["/.well-known/openid-configuration"] = json(() => ({ ...provider.metadata, ...metadata }));
    provider.issues(await provider.idToken({ nonce }));
    expect((await complete(settings)).kind).toBe("person");
    const { authorization, body } = provider.received.find(({ path }) => path === "/token") ?? {};
    return { authorization, secret: new URLSearchParams(body).get("client_secret") };
  };
  const basic = `Basic ${btoa("svc:s%3Ae+c")}`;

  test.each([
    ["in the header by default", {}, { authorization: basic, secret: null }],
    [
      "in the header where both are taken",
      { token_endpoint_auth_methods_supported: ["client_secret_post", "client_secret_basic"] },
      { authorization: basic, secret: null },
    ],
    [
      "in the body where that alone is taken",
      { token_endpoint_auth_methods_supported: ["client_secret_post"] },
      { authorization: undefined, secret: "s:e c" },
    ],
  ])("is sent %s", async (_name, metadata, expected) => {
    expect(await sent(metadata)).toEqual(expected);
  });

  test("is not needed by a public client", async () => {
    expect(await sent({}, { clientSecret: undefined })).toEqual({ authorization: undefined, secret: null });
  });
});

describe("a person", () => {
  test.each<[string, object, object, object]>([
    ["of the ID token", { name: "Ada", email: "a@b.test", groups: ["x", "y"] }, {}, { groups: ["x", "y"] }],
    ["of UserInfo", {}, { name: "Ada", email: "a@b.test", groups: ["x", "y"] }, { groups: ["x", "y"] }],
    ["of both, the ID token first", { name: "Ada" }, { name: "Eve", email: "a@b.test" }, { groups: [] }],
    ["with one group", { name: "Ada", email: "a@b.test", groups: "x" }, {}, { groups: ["x"] }],
    ["with a group that is no text", { name: "Ada", email: "a@b.test", groups: [1, null, "x"] }, {}, { groups: ["x"] }],
    ["by the preferred name", { preferred_username: "Ada", email: "a@b.test" }, {}, { groups: [] }],
  ])("%s", async (_name, claims, userInfo, expected) => {
    provider.issues(await provider.idToken({ nonce, ...claims }));
    provider.routes["/userinfo"] = json(() => ({ sub: "ada", ...userInfo }));
    const person = { kind: "person", issuer: provider.issuer, subject: "ada", name: "Ada", email: "a@b.test" };
    expect(await complete()).toMatchObject({ ...person, ...expected });
  });

  test("has the roles of a claim within claims, and of one with dots in its name", async () => {
    const claims = { realm_access: { roles: ["x"] }, "https://corp.test/roles": ["y"], name: "Ada", email: "a@b.test" };
    provider.issues(await provider.idToken({ nonce, ...claims }));
    expect(await complete({ rolesClaim: "realm_access.roles" })).toMatchObject({ groups: ["x"] });
    expect(await complete({ rolesClaim: "https://corp.test/roles" })).toMatchObject({ groups: ["y"] });
    expect(await complete({ rolesClaim: "constructor.name" })).toMatchObject({ groups: [] });
  });

  test("has no name or address that is no plain text", async () => {
    provider.issues(await provider.idToken({ nonce, name: "A\u0000", email: "x".repeat(256) }));
    expect(await complete()).toMatchObject({ subject: "ada", name: null, email: null });
  });

  test("is known by the hash of the ID token", async () => {
    const token = await provider.idToken({ nonce });
    provider.issues(token);
    const hash = Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
    expect(await complete()).toMatchObject({ idTokenHash: hash.toString("base64url") });
  });
});

describe("an ID token is refused", () => {
  const unsigned = () =>
    new UnsecuredJWT({ sub: "ada", nonce })
      .setIssuer(provider.issuer)
      .setAudience("svc")
      .setIssuedAt()
      .setExpirationTime("5m")
      .encode();

  test.each<[string, () => string | Promise<string>]>([
    ["for another nonce", () => provider.idToken({ nonce: "other" })],
    ["without a nonce", () => provider.idToken()],
    ["of another issuer", () => provider.idToken({ nonce, iss: "https://other.test" })],
    ["for another client", () => provider.idToken({ nonce, aud: "other" })],
    ["that expired", () => provider.idToken({ nonce, iat: 1, exp: 2 })],
    ["without a subject", () => provider.idToken({ nonce, sub: undefined })],
    ["with a subject that is no plain text", () => provider.idToken({ nonce, sub: "a\u0000" })],
    ["with a subject that is too long", () => provider.idToken({ nonce, sub: "a".repeat(256) })],
    ["by another key", () => provider.idToken({ nonce }, otherKeys.privateKey)],
    ["by a key that is not published", () => provider.idToken({ nonce }, undefined, { kid: "k2" })],
    ["that is not signed", unsigned],
  ])("%s", async (_name, token) => {
    provider.issues(await token());
    expect(await complete()).toMatchObject({ kind: "invalid" });
  });

  test("where UserInfo is another person's", async () => {
    provider.issues(await provider.idToken({ nonce }));
    provider.routes["/userinfo"] = json(() => ({ sub: "eve", name: "Eve" }));
    expect(await complete()).toMatchObject({ kind: "invalid" });
  });
});

test.each(["access_denied", "login_required", "temporarily_unavailable", "unheard_of"])(
  "the provider's error %s comes to the person",
  async (error) => {
    const answer = new URLSearchParams({ error, state: begun.state });
    expect(await provider.login().complete(answer, begun)).toEqual({ kind: "refused", error });
  },
);

test.each<[string, number, LoginEnd["kind"]]>([
  ["invalid_grant", 400, "invalid"],
  ["invalid_client", 401, "client_refused"],
  ["unauthorized_client", 400, "client_refused"],
  ["invalid_request", 400, "client_refused"],
])("the token endpoint's %s is %i: %s", async (error, status, kind) => {
  provider.routes["/token"] = json(() => ({ error }), status);
  expect(await complete()).toMatchObject({ kind });
});

describe("a faulty response of the provider is an outage", () => {
  const faults: [string, Answer][] = [
    ["an error", (response) => response.writeHead(500).end()],
    ["a redirect", (response) => response.writeHead(302, { location: `${provider.issuer}/keys` }).end()],
    ["a page", (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>")],
    ["half a document", (response) => response.writeHead(200, { "content-type": "application/json" }).end('{"a":')],
    ["a broken connection", (response) => response.destroy()],
    ["more than 1 MiB", json(() => ({ pad: "x".repeat(1_048_577) }))],
  ];

  test.each(
    ["/.well-known/openid-configuration", "/token", "/keys", "/userinfo"].flatMap((path) =>
      faults.map(([name, answer]) => ({ path, name, answer })),
    ),
  )("$path: $name", async ({ path, answer }) => {
    provider.issues(await provider.idToken({ nonce }));
    provider.routes[path] = answer;
    await expect(complete()).rejects.toThrow(IdentityProviderUnavailable);
    expect(provider.received.filter((request) => request.path === path)).toHaveLength(1);
  });

  test("also no response in time", async () => {
    provider.routes["/token"] = () => {};
    await expect(complete()).rejects.toThrow(IdentityProviderUnavailable);
  });

  test("and the next login discovers it again", async () => {
    const login = provider.login();
    provider.routes["/.well-known/openid-configuration"] = (response) => response.writeHead(500).end();
    await expect(login.begin({ again: false })).rejects.toThrow(IdentityProviderUnavailable);
    provider.reset();
    expect((await login.begin({ again: false })).address.origin).toBe(provider.issuer);
  });

  test("also where its metadata is another issuer's", async () => {
    provider.routes["/.well-known/openid-configuration"] = json(() => ({
      ...provider.metadata,
      issuer: "https://other.test",
    }));
    await expect(complete()).rejects.toThrow(IdentityProviderUnavailable);
  });

  test("also without TLS, where its issuer has TLS", async () => {
    const documents: Record<string, object> = {
      "https://idp.test/.well-known/openid-configuration": {
        ...provider.metadata,
        issuer: "https://idp.test",
        authorization_endpoint: "https://idp.test/authorize",
      },
    };
    const asked: string[] = [];
    const fetch = async (url: unknown) => {
      asked.push(String(url));
      return Response.json(documents[String(url)]);
    };
    const login = provider.login({ issuer: new URL("https://idp.test"), fetch });
    await expect(login.complete(query, begun)).rejects.toThrow(IdentityProviderUnavailable);
    expect(asked.filter((url) => url.startsWith("http:"))).toEqual([]);
  });
});

test("the metadata is read once for many logins, and again after an hour", async () => {
  const clock = { now: Date.now(), nowMs: () => clock.now };
  const login = provider.login({ clock });
  await Promise.all(Array.from({ length: 5 }, () => login.begin({ again: false })));
  expect(provider.received).toHaveLength(1);
  clock.now += 3_600_000;
  await login.begin({ again: false });
  expect(provider.received).toHaveLength(2);
});
