import { createPrivateKey, generateKeyPairSync, sign } from "node:crypto";
import fc from "fast-check";
import { compactVerify, importJWK } from "jose";
import { describe, expect, test } from "vitest";
import {
  importAgentKey,
  issueHopToken,
  issueTransactionToken,
  type PublicJwk,
  type SigningKey,
  signActorProof,
  signIdentityAssertion,
  type VerificationKey,
  verifyActorProof,
  verifyIdentityAssertion,
  verifyToken,
} from "../src/index.ts";
import { runtime as node } from "../src/runtime/node.ts";
import { runtime as web } from "../src/runtime/web.ts";
import { agentHop, issuer, nowSeconds, rootGrant, toolHop, transaction } from "./fixtures.ts";

const statement = { agent: "planner", audience: issuer, nowSeconds, jti: "proof-1" };
const binding = { nonce: "challenge" };

interface Kind {
  readonly issue: (key: SigningKey) => Promise<string>;
  readonly verify: (token: string, key: VerificationKey) => Promise<{ readonly ok: boolean }>;
}

const issued = (kind: "hop" | "transaction", issue: Kind["issue"]): Kind => ({
  issue,
  verify: (token, key) => verifyToken(kind, token, { keys: new Map([[key.kid, key]]), issuer, nowSeconds }),
});
const proofOptions = (key: VerificationKey) => ({ keysOf: () => [key], audience: issuer, nowSeconds });

const kinds: Readonly<Record<string, Kind>> = {
  "a root grant": issued("hop", (key) => issueHopToken(key, rootGrant())),
  "an agent's token": issued("hop", (key) => issueHopToken(key, agentHop())),
  "a tool's token": issued("hop", (key) => issueHopToken(key, toolHop())),
  "a transaction token": issued("transaction", (key) => issueTransactionToken(key, transaction())),
  "an actor proof": {
    issue: (key) => signActorProof(key, statement, binding),
    verify: (token, key) => verifyActorProof(token, binding, proofOptions(key)),
  },
  "an identity assertion": {
    issue: (key) => signIdentityAssertion(key, statement, "token"),
    verify: (token, key) => verifyIdentityAssertion(token, "token", proofOptions(key)),
  },
};

const curves = {
  ES256: () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
  EdDSA: () => generateKeyPairSync("ed25519"),
} as const;

const encode = (data: Uint8Array | string): string => Buffer.from(data).toString("base64url");

/** Something done to a token that may or may not leave it good. */
const changes = fc.oneof(
  fc.constant<Change>((token) => token),
  fc.record({ at: fc.nat(), by: fc.integer({ min: 1, max: 255 }) }).map(({ at, by }): Change => {
    return onSignature((bytes) => bytes.with(at % bytes.length, (bytes[at % bytes.length] ?? 0) ^ by));
  }),
  fc.nat({ max: 80 }).map((length): Change => onSignature((bytes) => resized(bytes, length))),
  // Halves of nothing, of everything, and a half twice.
  fc.constantFrom<Change>(
    onSignature((bytes) => bytes.fill(0)),
    onSignature((bytes) => bytes.fill(0, 0, 32)),
    onSignature((bytes) => bytes.fill(0, 32)),
    onSignature((bytes) => bytes.fill(255)),
    onSignature((bytes) => bytes.copyWithin(0, 32)),
  ),
  fc.constantFrom("none", "HS256", "ES384", "ES256K", "EdDSA", "Ed25519", "RS256", "es256", "ES256").map(
    (alg): Change =>
      (token, resign) =>
        resign(
          token.replace(/^[^.]+/, (head) =>
            encode(JSON.stringify({ ...JSON.parse(`${Buffer.from(head, "base64url")}`), alg })),
          ),
        ),
  ),
  fc.record({ at: fc.nat(), char: fc.constantFrom(..."AQZaz09-_=.+/ é") }).map(
    ({ at, char }): Change =>
      (token) =>
        token.slice(0, at % token.length) + char + token.slice((at % token.length) + 1),
  ),
);
type Change = (token: string, resign: (token: string) => string) => string;

const resized = (bytes: Uint8Array, length: number): Uint8Array => {
  const sized = new Uint8Array(length);
  sized.set(bytes.subarray(0, length));
  return sized;
};

function onSignature(change: (bytes: Uint8Array) => Uint8Array): Change {
  return (token) => {
    const dot = token.lastIndexOf(".") + 1;
    return token.slice(0, dot) + encode(change(Uint8Array.from(Buffer.from(token.slice(dot), "base64url"))));
  };
}

async function keysOf(alg: keyof typeof curves) {
  const { privateKey, publicKey } = curves[alg]();
  const signing = await importAgentKey(privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  const jwk = publicKey.export({ format: "jwk" }) as PublicJwk;
  const algs = alg === "ES256" ? ["ES256"] : ["EdDSA", "Ed25519"];
  const keyOn = async (platform: typeof node | typeof web): Promise<VerificationKey> => {
    return { kid: signing.kid, algs, publicJwk: jwk, check: await platform.checker(jwk) };
  };
  const key = createPrivateKey(privateKey.export({ type: "pkcs8", format: "pem" }));
  const resign = (token: string): string => {
    const input = token.slice(0, token.lastIndexOf("."));
    const signature = sign(alg === "ES256" ? "sha256" : null, Buffer.from(input), { key, dsaEncoding: "ieee-p1363" });
    return `${input}.${encode(signature)}`;
  };
  return {
    signing,
    resign,
    algs,
    onNode: await keyOn(node),
    onWeb: await keyOn(web),
    jose: await importJWK({ ...jwk }, alg),
  };
}

describe.each(["ES256", "EdDSA"] as const)("%s", (alg) => {
  test.each(Object.entries(kinds))(
    "%s with any change verifies on both runtimes or on neither, and never where jose rejects it",
    async (_name, kind) => {
      const { signing, resign, algs, onNode, onWeb, jose } = await keysOf(alg);
      const token = await kind.issue(signing);
      expect(await kind.verify(token, onNode)).toMatchObject({ ok: true });
      await fc.assert(
        fc.asyncProperty(changes, async (change) => {
          const changed = change(token, resign);
          const verdict = await kind.verify(changed, onNode);
          expect(await kind.verify(changed, onWeb)).toEqual(verdict);
          const isJoses = await compactVerify(changed, jose, { algorithms: algs }).then(
            () => true,
            () => false,
          );
          if (verdict.ok) expect(isJoses).toBe(true);
          if (changed === token) expect(verdict.ok).toBe(true);
        }),
        { numRuns: 150 },
      );
    },
  );
});
