import { generatePrivateJwk } from "@svc/tokens";
import { describe, expect, test } from "vitest";
import type { Answer } from "./src/api.ts";
import { has } from "./src/deployment.ts";
import { ledgerForTests } from "./src/for-tests.ts";
import { keyedWith, type Parts, partsOf, signedBy, withSignature } from "./src/forge.ts";
import { clerkSession, ledgerHops } from "./src/ledger.ts";

const { api, scope, deployment } = await ledgerForTests();
const strangersKey = await generatePrivateJwk();
const genuine = await allowedRead();
const published = (await api.call("GET", "/.well-known/jwks.json")).body.keys.find(
  ({ kid }: { kid: string }) => kid === partsOf(genuine.token).header.kid,
);

async function allowedRead() {
  const { session, clerk, hops } = await clerkSession(api, scope);
  const { action_id } = (await api.authorize(session, clerk.token, hops.read)).body;
  return { session, token: clerk.token, action: action_id as string, hop: hops.read };
}

/** Presents a token to every route that takes one: the exchange in its form, the others as a bearer. */
async function presentEverywhere(token: string): Promise<Record<string, unknown>> {
  const { session, action, hop } = genuine;
  const [exchanged, decided, renewed, minted, listed] = await Promise.all([
    api.exchange(token, hop, action),
    api.authorize(session, token, hop),
    api.renew(token, 1),
    api.mint(token, action, {}),
    api.call("GET", "/v1/session/targets", { bearer: token }),
  ]);
  const usual = ({ status, body }: Answer) => `${status} ${body.error?.code}`;
  return {
    exchange: `${exchanged.status} ${exchanged.body.error}`,
    authorize: usual(decided),
    renew: usual(renewed),
    mint: usual(minted),
    targets: usual(listed),
  };
}

const refusedEverywhere = {
  exchange: "400 invalid_request",
  authorize: "401 unauthorized",
  renew: "401 unauthorized",
  mint: "401 unauthorized",
  targets: "401 unauthorized",
};

const parts = (header: object, payload: object = {}): Parts => {
  const real = partsOf(genuine.token);
  return { header: { ...real.header, ...header }, payload: { ...real.payload, ...payload } };
};
const byStranger = (header: object, payload?: object) => signedBy(strangersKey, parts(header, payload));

describe("a token that the issuer did not sign is refused at every route that takes tokens, and spends nothing", () => {
  test.each<[string, () => string]>([
    ["alg none, no signature", () => withSignature(parts({ alg: "none" }), "")],
    ["alg nOnE, no signature", () => withSignature(parts({ alg: "nOnE" }), "")],
    ["alg none, the real signature", () => withSignature(parts({ alg: "none" }), partsOf(genuine.token).signature)],
    ["HS256 keyed with the public key", () => keyedWith(JSON.stringify(published), parts({ alg: "HS256" }))],
    [
      "HS256 keyed with its coordinate",
      () => keyedWith(Buffer.from(String(published.x), "base64url"), parts({ alg: "HS256" })),
    ],
    ["HS256 keyed with nothing", () => keyedWith("", parts({ alg: "HS256" }))],
    ["no alg", () => byStranger({ alg: undefined })],
    ["a stranger's key under the issuer's kid", () => byStranger({})],
    ["a key of the token's own in jwk", () => byStranger({ jwk: { ...strangersKey, d: undefined } })],
    ["a key to be fetched by jku", () => byStranger({ jku: "http://127.0.0.1:1/keys" })],
    ["a key to be fetched by x5u", () => byStranger({ x5u: "http://127.0.0.1:1/cert" })],
    ["a critical extension", () => byStranger({ crit: ["b64"], b64: false })],
    ["a kid that is a path", () => byStranger({ kid: "../../../../dev/null" })],
    ["a kid that is a statement", () => byStranger({ kid: "' or 1=1 --" })],
    ["a kid with NUL", () => byStranger({ kid: `${published.kid}\0` })],
    ["a kid of 10 kB", () => byStranger({ kid: "k".repeat(10_000) })],
    ["a kid named like a member of Object", () => byStranger({ kid: "__proto__" })],
    ["no kid", () => byStranger({ kid: undefined })],
    ["a changed payload", () => withSignature(parts({}, { scope: "finance" }), partsOf(genuine.token).signature)],
    ["a longer life", () => withSignature(parts({}, { exp: 9_999_999_999 }), partsOf(genuine.token).signature)],
    ["a cut signature", () => genuine.token.slice(0, -4)],
    ["no signature", () => genuine.token.slice(0, genuine.token.lastIndexOf("."))],
    ["text", () => "not-a-token"],
  ])("%s", async (_case, forge) => {
    expect(await presentEverywhere(forge())).toEqual(refusedEverywhere);
  });

  test("a forgery of a valid token does not spend that token", async () => {
    const { session, clerk, hops } = await clerkSession(api, scope);
    const { body } = await api.authorize(session, clerk.token, hops.read);
    const forged = signedBy(strangersKey, partsOf(clerk.token));
    expect((await api.exchange(forged, hops.read, body.action_id)).status).toBe(400);
    expect((await api.exchange(clerk.token, hops.read, body.action_id)).status).toBe(200);
  });
});

describe("a token that the issuer's key signed with an invalid claim or header is refused (needs the issuer's key)", () => {
  const nowSeconds = () => Math.floor(Date.now() / 1000);
  const reissued = (header: object, payload: object): string => {
    const key = deployment.issuerKey;
    if (key === null) throw new Error("the issuer's key is known");
    return signedBy(key, parts(header, { jti: crypto.randomUUID(), exp: nowSeconds() + 30, ...payload }));
  };

  test.skipIf(!has.issuerKey)("unlike one with valid claims and header", async () => {
    const { session, hop } = genuine;
    expect((await api.authorize(session, reissued({}, {}), hop)).body.decision).toBe("allow");
  });

  test.skipIf(!has.issuerKey).each<[string, object, () => object]>([
    ["no exp", {}, () => ({ exp: undefined })],
    ["exp as text", {}, () => ({ exp: String(nowSeconds() + 30) })],
    ["exp of 1e21", {}, () => ({ exp: 1e21 })],
    ["exp a second ago", {}, () => ({ exp: nowSeconds() - 1 })],
    ["iat in the future", {}, () => ({ iat: nowSeconds() + 60 })],
    ["no iat", {}, () => ({ iat: undefined })],
    ["nbf in the future", {}, () => ({ nbf: nowSeconds() + 60 })],
    ["another issuer", {}, () => ({ iss: "https://elsewhere.test" })],
    ["no jti", {}, () => ({ jti: undefined })],
    ["a list of audiences", {}, () => ({ aud: [genuine.hop.target] })],
    ["the typ of a transaction token", { typ: "txntoken+jwt" }, () => ({})],
    ["the typ of a proof", { typ: "agent-proof+jwt" }, () => ({})],
    ["the typ of an identity assertion", { typ: "agent-identity+jwt" }, () => ({})],
    ["a plain JWT's typ", { typ: "JWT" }, () => ({})],
    ["no typ", { typ: undefined }, () => ({})],
    ["a critical extension", { crit: ["x"], x: 1 }, () => ({})],
    ["hop 0", {}, () => ({ hop: 0 })],
    ["hop -1", {}, () => ({ hop: -1 })],
    ["hop 2^31", {}, () => ({ hop: 2 ** 31 })],
    ["fewer actors than hops", {}, () => ({ act: { sub: "ada" } })],
    [
      "more actors than hops",
      {},
      () => ({ act: { sub: "a", act: { sub: "b", act: { sub: "c", act: { sub: "ada" } } } } }),
    ],
    ["an unknown taint", {}, () => ({ taint: "clean" })],
  ])("%s", async (_case, header, payload) => {
    expect(await presentEverywhere(reissued(header, payload()))).toEqual(refusedEverywhere);
  });
});

test("a transaction token is refused as a subject token and as a bearer", async () => {
  const { session, clerk } = await clerkSession(api, scope);
  const post = ledgerHops(scope).post;
  const { token, action } = await api.hop(session, clerk.token, post);
  const { body } = await api.mint(token, action, { amount: 1 });
  expect(await presentEverywhere(body.transaction_token)).toEqual(refusedEverywhere);
});

test("a plane's bearer is refused as a subject token and as a hop's bearer", async () => {
  expect(await presentEverywhere(api.tokens.admin)).toEqual(refusedEverywhere);
});
