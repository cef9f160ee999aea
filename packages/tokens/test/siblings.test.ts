import { hkdfSync } from "node:crypto";
import { decodeProtectedHeader, jwtVerify, SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import {
  decodeUnverifiedHopToken,
  type HopClaims,
  importIssuerKey,
  issueHopToken,
  issueSibling,
  issueTransactionToken,
  siblingClaims,
  type TokenKind,
  verifyToken,
} from "../src/index.ts";
import {
  agentHop,
  forge,
  issuance,
  issuer,
  makeKeyPair,
  nowSeconds,
  payloadOf,
  rootGrant,
  toolHop,
  transaction,
} from "./fixtures.ts";

const pair = await makeKeyPair();
const key = await importIssuerKey(pair.jwk);

const sibling = (subject: HopClaims = agentHop()): HopClaims => siblingClaims(subject, "trusted_internal", issuance());
const siblingKeys = () => new Map([[key.kid, key.siblings]]);
const verify = (kind: TokenKind, token: string, keys: Parameters<typeof verifyToken>[2]["keys"]) =>
  verifyToken(kind, token, { keys, issuer, nowSeconds });
const secretOf = ({ d }: { readonly d: string }, kid: string) =>
  new Uint8Array(hkdfSync("sha256", Buffer.from(d, "base64url"), "", `svc sibling ${kid}`, 32));

test("a sibling verifies with jose under the key's derived secret, and jose's with us", async () => {
  const claims = sibling();
  const token = await issueSibling(key.siblings, claims);
  const secret = secretOf(pair.jwk, key.kid);
  const options = { issuer, typ: "sibling+jwt", algorithms: ["HS256"], currentDate: new Date(nowSeconds * 1000) };
  expect((await jwtVerify(token, secret, options)).payload).toEqual(payloadOf(token));
  expect(decodeProtectedHeader(token)).toEqual({ alg: "HS256", typ: "sibling+jwt", kid: key.kid });
  const joses = await new SignJWT(payloadOf(token))
    .setProtectedHeader(decodeProtectedHeader(token) as never)
    .sign(secret);
  expect(await verify("sibling", joses, siblingKeys())).toEqual({ ok: true, claims });
});

test("the root grant's sibling verifies too", async () => {
  const claims = sibling(rootGrant());
  expect(await verify("sibling", await issueSibling(key.siblings, claims), siblingKeys())).toEqual({
    ok: true,
    claims,
  });
});

describe("no kind passes for another, under any of the issuer's keys", () => {
  const kinds: readonly (readonly [TokenKind, () => Promise<string>])[] = [
    ["hop", () => issueHopToken(key, agentHop())],
    ["hop", () => issueHopToken(key, sibling())],
    ["sibling", () => issueSibling(key.siblings, sibling())],
    ["transaction", () => issueTransactionToken(key, transaction())],
  ];
  test.each(kinds)("%s", async (own, make) => {
    const token = await make();
    const lookups = [
      ["published", pair.keys],
      ["of siblings", siblingKeys()],
    ] as const;
    for (const kind of ["hop", "sibling", "transaction"] as const) {
      for (const [name, keys] of lookups) {
        const isOwn = kind === own && (name === "of siblings") === (own === "sibling");
        expect([kind, name, (await verify(kind, token, keys)).ok]).toEqual([kind, name, isOwn]);
      }
    }
  });

  test("decoding a hop token never returns a sibling", async () => {
    expect(decodeUnverifiedHopToken(await issueSibling(key.siblings, sibling()))).toBeUndefined();
  });
});

describe("what the issuer did not make is no sibling", () => {
  const header = { alg: "HS256", typ: "sibling+jwt" };
  const claims = async () => payloadOf(await issueSibling(key.siblings, sibling()));
  const under = async (secret: Uint8Array, more: object = {}) =>
    new SignJWT(await claims()).setProtectedHeader({ ...header, kid: key.kid, ...more }).sign(secret);
  const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

  test.each<[string, () => Promise<string>, string]>([
    ["under the public key as a secret", () => under(text(key.publicJwk)), "signature"],
    ["under the private half itself", () => under(Buffer.from(pair.jwk.d, "base64url")), "signature"],
    ["under another key's secret", async () => under(secretOf((await makeKeyPair()).jwk, key.kid)), "signature"],
    ["under a key that was removed", async () => under(secretOf(pair.jwk, "gone"), { kid: "gone" }), "unknown_key"],
    [
      "signed with ES256",
      async () => forge(pair.jwk, { ...header, alg: "ES256", kid: key.kid }, await claims()),
      "signature",
    ],
    ["ES256, and says HS256", async () => forge(pair.jwk, { ...header, kid: key.kid }, await claims()), "signature"],
    ["of another kind's claims", () => issueSibling(key.siblings, agentHop()), "malformed"],
    ["for a tool", () => issueSibling(key.siblings, { ...toolHop(), renewed: true }), "malformed"],
    ["with a shortened MAC", async () => (await issueSibling(key.siblings, sibling())).slice(0, -3), "signature"],
  ])("%s", async (_name, make, cause) => {
    expect(await verify("sibling", await make(), siblingKeys())).toEqual({ ok: false, cause });
  });
});
