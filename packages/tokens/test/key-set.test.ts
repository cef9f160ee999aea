import { generateKeyPairSync, randomBytes } from "node:crypto";
import { calculateJwkThumbprint, createLocalJWKSet, exportJWK, jwtVerify } from "jose";
import { describe, expect, test } from "vitest";
import {
  generatePrivateJwk,
  importAgentKey,
  importIssuerKey,
  importJwks,
  issueHopToken,
  KeyRefused,
  type PrivateJwk,
  readPublicKey,
  sealPrivateJwk,
  toJwks,
  unsealPrivateJwk,
  verifyToken,
} from "../src/index.ts";
import { agentHop, issuer, makeKeyPair, nowSeconds } from "./fixtures.ts";

const pair = await makeKeyPair();

const ec = (namedCurve = "P-256") => generateKeyPairSync("ec", { namedCurve });
const pem = (key: { export(options: { type: "pkcs8"; format: "pem" }): string | Buffer }) =>
  key.export({ type: "pkcs8", format: "pem" }).toString();

describe("our own key", () => {
  test("its kid is the RFC 7638 thumbprint", async () => {
    expect(pair.signing.kid).toBe(await calculateJwkThumbprint({ ...pair.signing.publicJwk }));
  });

  test("PEM, JWK text and JWK are one key", async () => {
    const { privateKey } = ec();
    const jwk = await exportJWK(privateKey);
    const kids = await Promise.all(
      [
        pem(privateKey),
        ` ${pem(privateKey)}\n`,
        JSON.stringify(jwk),
        JSON.stringify({ ...jwk, kid: "x", use: "sig", alg: "ES256" }),
      ].map(async (material) => (await importIssuerKey(material)).kid),
    );
    expect(new Set(kids)).toEqual(new Set([await calculateJwkThumbprint(jwk)]));
  });

  test("an agent can have an Ed25519 key, the issuer cannot", async () => {
    const material = pem(generateKeyPairSync("ed25519").privateKey);
    expect(await importAgentKey(material)).toMatchObject({ alg: "EdDSA" });
    await expect(importIssuerKey(material)).rejects.toMatchObject({ code: "unsupported" });
  });

  test("no serialization of it shows the private key", () => {
    expect(JSON.stringify(pair.signing)).not.toContain(pair.jwk.d);
  });

  const other = () => ec().privateKey.export({ format: "jwk" });
  const refused: [string, () => string | PrivateJwk | Promise<string | PrivateJwk>, string][] = [
    ["a P-384 PEM", () => pem(ec("P-384").privateKey), "unsupported"],
    ["an RSA PEM", () => pem(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey), "unsupported"],
    ["a PEM that is none", () => "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "unsupported"],
    ["a P-384 JWK", () => JSON.stringify(ec("P-384").privateKey.export({ format: "jwk" })), "unsupported"],
    ["a public JWK", () => JSON.stringify(pair.signing.publicJwk), "malformed"],
    ["a symmetric JWK", () => JSON.stringify({ kty: "oct", k: "AAAA" }), "symmetric"],
    ["a private half of another pair", () => ({ ...pair.jwk, d: other().d ?? "" }), "malformed"],
    ["a point off its curve", () => ({ ...pair.jwk, x: "A".repeat(43) }), "malformed"],
    ["text that is no JSON", () => "secret", "malformed"],
    ["JSON that is no key", () => "[]", "malformed"],
    ["nothing", () => "", "malformed"],
  ];

  test.each(refused)("%s is rejected, and the message has no part of it", async (_name, make, code) => {
    const fault = await importIssuerKey(await make()).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(KeyRefused);
    expect(fault).toMatchObject({ code, message: `key refused: ${code}` });
    expect(fault).not.toHaveProperty("cause");
  });
});

describe("a presented public key", () => {
  const jwkOf = (key: { export(options: { format: "jwk" }): object }) => key.export({ format: "jwk" });
  const own = () => ({ ...pair.signing.publicJwk });

  test("has one normal form", async () => {
    const reading = await readPublicKey({
      ...own(),
      kid: "laptop",
      use: "sig",
      alg: "ES256",
      key_ops: ["verify"],
      x5c: ["x"],
    });
    expect(reading).toMatchObject({ ok: true, key: { kid: pair.signing.kid, algs: ["ES256"] } });
    expect(reading.ok && reading.key.publicJwk).toEqual(own());
  });

  const refused: [string, () => unknown, string][] = [
    ["with its private half", () => pair.jwk, "private"],
    [
      "with an RSA private exponent",
      () => jwkOf(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey),
      "private",
    ],
    ["symmetric", () => ({ kty: "oct", k: "AAAA" }), "symmetric"],
    ["symmetric in disguise", () => ({ ...own(), k: "AAAA" }), "symmetric"],
    ["RSA of 1024 bits", () => jwkOf(generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey), "unsupported"],
    ["RSA of 2048 bits", () => jwkOf(generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey), "unsupported"],
    ["P-384", () => jwkOf(ec("P-384").publicKey), "unsupported"],
    ["secp256k1", () => jwkOf(ec("secp256k1").publicKey), "unsupported"],
    ["X25519", () => jwkOf(generateKeyPairSync("x25519").publicKey), "unsupported"],
    ["of an unknown kind", () => ({ kty: "constructor", crv: "P-256" }), "unsupported"],
    ["for encryption", () => ({ ...own(), use: "enc" }), "unsupported"],
    ["for another algorithm", () => ({ ...own(), alg: "ES384" }), "unsupported"],
    ["for signing only", () => ({ ...own(), key_ops: ["sign"] }), "unsupported"],
    ["without a curve", () => ({ ...own(), crv: undefined }), "malformed"],
    ["without y", () => ({ ...own(), y: undefined }), "malformed"],
    ["off its curve", () => ({ ...own(), y: "A".repeat(43) }), "malformed"],
    ["with a short coordinate", () => ({ ...own(), x: pair.jwk.x.slice(0, 42) }), "malformed"],
    ["with padding, a second spelling", () => ({ ...own(), x: `${pair.jwk.x}=` }), "malformed"],
    ["that is a list", () => [own()], "malformed"],
    ["that is text", () => JSON.stringify(own()), "malformed"],
    ["that is nothing", () => null, "malformed"],
  ];

  test.each(refused)("%s is rejected", async (_name, make, cause) => {
    expect(await readPublicKey(make())).toEqual({ ok: false, cause });
  });

  test("unused bits in a coordinate do not make a second key", async () => {
    const last = pair.jwk.x.at(-1) ?? "";
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const twin = pair.jwk.x.slice(0, -1) + alphabet[alphabet.indexOf(last) + 1];
    expect(Buffer.from(twin, "base64url")).toEqual(Buffer.from(pair.jwk.x, "base64url"));
    expect(await readPublicKey({ ...own(), x: twin })).toEqual({ ok: false, cause: "malformed" });
  });
});

describe("a key set", () => {
  test("jose finds the key of our token in the published set", async () => {
    const older = await makeKeyPair();
    const document = toJwks([older.verification, pair.verification]);
    expect(document.keys[1]).toEqual({ ...pair.signing.publicJwk, kid: pair.signing.kid, alg: "ES256", use: "sig" });
    const token = await issueHopToken(pair.signing, agentHop());
    const published = createLocalJWKSet(JSON.parse(JSON.stringify(document)));
    await jwtVerify(token, published, { currentDate: new Date(nowSeconds * 1000) });
  });

  test("a published set can be imported and verifies", async () => {
    const keys = await importJwks(JSON.parse(JSON.stringify(toJwks([pair.verification]))));
    const token = await issueHopToken(pair.signing, agentHop());
    expect(await verifyToken("hop", token, { keys, issuer, nowSeconds })).toMatchObject({ ok: true });
  });

  test("keys of other kinds are skipped, and keys without a kid have their thumbprint", async () => {
    const keys = await importJwks({
      keys: [{ kty: "oct", k: "AAAA" }, null, "x", { ...pair.jwk }, { ...pair.signing.publicJwk }],
      extra: true,
    });
    expect([...keys.keys()]).toEqual([pair.signing.kid]);
  });

  test("a kid that appears twice is ignored", async () => {
    const other = await makeKeyPair();
    const keys = await importJwks({
      keys: [pair, other, pair].map(({ signing }) => ({ ...signing.publicJwk, kid: "k" })),
    });
    expect(keys.size).toBe(0);
  });

  test.each([null, [], {}, { keys: {} }, "{}", { keys: Array(257).fill({}) }])(
    "%j is an invalid key set",
    async (document) => {
      await expect(importJwks(document)).rejects.toMatchObject({ code: "malformed" });
    },
  );
});

describe("a sealed key", () => {
  const encryptionKey = randomBytes(32);

  test("opens to the same key, and does not show it", async () => {
    const sealed = await sealPrivateJwk(pair.jwk, encryptionKey);
    expect(await unsealPrivateJwk(sealed, pair.signing.kid, encryptionKey)).toEqual(pair.jwk);
    expect(Buffer.from(sealed).includes(pair.jwk.d)).toBe(false);
    expect(await sealPrivateJwk(pair.jwk, encryptionKey)).not.toBe(sealed);
  });

  const cases: [string, (sealed: string) => [sealed: string, kid: string, key: Uint8Array]][] = [
    ["under another key", (sealed) => [sealed, pair.signing.kid, randomBytes(32)]],
    ["under a key of another length", (sealed) => [sealed, pair.signing.kid, randomBytes(16)]],
    ["in another key's row", (sealed) => [sealed, "other-kid", encryptionKey]],
    [
      "with one byte changed",
      (sealed) => [sealed.replace(/.(?=.{30}$)/, (c) => (c === "A" ? "B" : "A")), pair.signing.kid, encryptionKey],
    ],
    ["with its kid exchanged", (sealed) => [relabelled(sealed), "other-kid", encryptionKey]],
    ["that is malformed", () => ["x", pair.signing.kid, encryptionKey]],
  ];

  test.each(cases)("%s does not open", async (_name, change) => {
    const arguments_ = change(await sealPrivateJwk(pair.jwk, encryptionKey));
    await expect(unsealPrivateJwk(...arguments_)).rejects.toMatchObject({ code: "unsealable" });
  });

  const relabelled = (sealed: string) => {
    const [head = "", ...rest] = sealed.split(".");
    const header = { ...JSON.parse(Buffer.from(head, "base64url").toString()), kid: "other-kid" };
    return [Buffer.from(JSON.stringify(header)).toString("base64url"), ...rest].join(".");
  };
});

test("two generated keys differ", async () => {
  expect((await generatePrivateJwk()).d).not.toBe((await generatePrivateJwk()).d);
});
