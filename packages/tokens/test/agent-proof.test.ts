import { generateKeyPairSync } from "node:crypto";
import { exportJWK, importJWK, jwtVerify, SignJWT } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import {
  importAgentKey,
  issueHopToken,
  type ProofBinding,
  popFailureCause,
  proofRefusals,
  readPublicKey,
  type SigningKey,
  sha256Base64url,
  signActorProof,
  signIdentityAssertion,
  type VerificationKey,
  type VerifyProofOptions,
  verificationKeyOf,
  verifyActorProof,
  verifyIdentityAssertion,
} from "../src/index.ts";
import { agentHop, forge, issuer, type KeyPair, makeKeyPair, nowSeconds, payloadOf, toolHop } from "./fixtures.ts";

const target = "mcp:ledger/post_entry";
const agent = "planner";
let pair: KeyPair;
let subjectToken: string;

beforeAll(async () => {
  pair = await makeKeyPair();
  subjectToken = await issueHopToken((await makeKeyPair()).signing, agentHop());
});

const statement = (audience = issuer) => ({ agent, audience, nowSeconds, jti: "proof-1" });
const pinned =
  (...keys: VerificationKey[]) =>
  (name: string) =>
    name === agent ? keys : undefined;
const options = (change: Partial<VerifyProofOptions> = {}): VerifyProofOptions => ({
  keysOf: pinned(pair.verification),
  audience: issuer,
  nowSeconds,
  ...change,
});

async function ed25519(): Promise<{ signing: SigningKey; verification: VerificationKey }> {
  const { privateKey } = generateKeyPairSync("ed25519");
  const signing = await importAgentKey(privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  return { signing, verification: await verificationKeyOf(signing) };
}

const bindings: [string, () => ProofBinding, string, () => string][] = [
  ["a subject token", () => ({ subjectToken }), "sth", () => sha256Base64url(subjectToken)],
  ["an enrollment's challenge", () => ({ nonce: "challenge-1" }), "nonce", () => "challenge-1"],
];

describe.each(bindings)("a proof over %s", (_name, binding, claim, value) => {
  test.each(["ES256", "EdDSA"])("signed with %s names its agent, its use and its key", async (alg) => {
    const { signing, verification } = alg === "ES256" ? pair : await ed25519();
    const proof = await signActorProof(signing, statement(), binding());
    expect(payloadOf(proof)).toEqual({
      iss: agent,
      sub: agent,
      aud: issuer,
      iat: nowSeconds,
      exp: nowSeconds + 60,
      jti: "proof-1",
      [claim]: value(),
    });
    expect(await verifyActorProof(proof, binding(), options({ keysOf: async () => [verification] }))).toEqual({
      ok: true,
      proof: { agent, jti: "proof-1", exp: nowSeconds + 60, kid: signing.kid },
    });
  });
});

describe("with jose", () => {
  test("jose verifies our proof", async () => {
    const proof = await signActorProof(pair.signing, statement(), { subjectToken });
    const { payload } = await jwtVerify(proof, await importJWK({ ...pair.signing.publicJwk }, "ES256"), {
      typ: "agent-proof+jwt",
      issuer: agent,
      subject: agent,
      audience: issuer,
      maxTokenAge: 60,
      currentDate: new Date(nowSeconds * 1000),
    });
    expect(payload.sth).toBe(sha256Base64url(subjectToken));
  });

  test.each(["EdDSA", "Ed25519", "ES256"])(
    "we verify jose's %s proof, with or without a kid of its own",
    async (alg) => {
      const curve =
        alg === "ES256" ? generateKeyPairSync("ec", { namedCurve: "P-256" }) : generateKeyPairSync("ed25519");
      const reading = await readPublicKey(await exportJWK(curve.publicKey));
      if (!reading.ok) throw new Error(reading.cause);
      for (const kid of [undefined, "laptop"]) {
        const proof = await new SignJWT({ nonce: "c" })
          .setProtectedHeader({ alg, typ: "agent-proof+jwt", ...(kid && { kid }) })
          .setIssuer(agent)
          .setSubject(agent)
          .setAudience(issuer)
          .setIssuedAt(nowSeconds)
          .setExpirationTime(nowSeconds + 30)
          .setJti("j")
          .sign(curve.privateKey);
        const verification = await verifyActorProof(proof, { nonce: "c" }, options({ keysOf: pinned(reading.key) }));
        expect(verification).toMatchObject({ ok: true, proof: { agent, kid: reading.key.kid } });
      }
    },
  );
});

test("an identity assertion is for one access token at one target", async () => {
  const assertion = await signIdentityAssertion(pair.signing, statement(target), subjectToken);
  const at = options({ audience: target });
  expect(await verifyIdentityAssertion(assertion, subjectToken, at)).toMatchObject({ ok: true, proof: { agent } });
  expect(await verifyIdentityAssertion(assertion, `${subjectToken}x`, at)).toEqual({ ok: false, cause: "binding" });
  expect(await verifyIdentityAssertion(assertion, subjectToken, options())).toEqual({ ok: false, cause: "audience" });
});

test("a proof is not accepted as an assertion, nor an assertion as a proof, nor a hop token as either", async () => {
  const proof = await signActorProof(pair.signing, statement(), { subjectToken });
  const assertion = await signIdentityAssertion(pair.signing, statement(), subjectToken);
  const hop = await issueHopToken(pair.signing, toolHop());
  const refused = { ok: false, cause: "type" };
  expect(await verifyIdentityAssertion(proof, subjectToken, options())).toEqual(refused);
  expect(await verifyActorProof(assertion, { subjectToken }, options())).toEqual(refused);
  expect(await verifyActorProof(hop, { subjectToken }, options())).toEqual(refused);
});

describe("an agent's proof or assertion is rejected", () => {
  const claims = (change: Record<string, unknown> = {}) => ({
    iss: agent,
    sub: agent,
    aud: issuer,
    iat: nowSeconds,
    exp: nowSeconds + 60,
    jti: "j",
    sth: sha256Base64url(subjectToken),
    ...change,
  });
  const signed = (change: Record<string, unknown>, header: Record<string, unknown> = {}) =>
    forge(pair.jwk, { alg: "ES256", typ: "agent-proof+jwt", ...header }, claims(change));

  const cases: [string, () => string | Promise<string>, string, Partial<VerifyProofOptions>?][] = [
    ["another agent's proof", () => signed({ iss: "auditor", sub: "auditor" }), "agent"],
    ["iss and sub apart", () => signed({ sub: "auditor" }), "malformed"],
    ["an invalid agent name", () => signed({ iss: "Ana", sub: "Ana" }), "malformed"],
    ["an agent that never enrolled", () => signed({}), "not_enrolled", { keysOf: () => [] }],
    [
      "a key that is not the pinned one",
      async () => forge((await makeKeyPair()).jwk, { alg: "ES256", typ: "agent-proof+jwt" }, claims()),
      "signature",
    ],
    ["alg none", () => signed({}, { alg: "none" }), "signature"],
    ["alg of another key type", () => signed({}, { alg: "EdDSA" }), "signature"],
    ["a jwk header", () => signed({}, { jwk: pair.signing.publicJwk }), "malformed"],
    ["another audience", () => signed({ aud: "https://other.example" }), "audience"],
    ["several audiences", () => signed({ aud: [issuer] }), "malformed"],
    ["61 seconds of life", () => signed({ exp: nowSeconds + 61 }), "lifetime"],
    ["a life that ends before it begins", () => signed({ exp: nowSeconds - 1 }), "lifetime"],
    ["its exact last second", () => signed({ iat: nowSeconds - 60, exp: nowSeconds }), "expired"],
    [
      "a second after the given leeway",
      () => signed({ iat: nowSeconds - 65, exp: nowSeconds - 5 }),
      "expired",
      { expLeewaySeconds: 5 },
    ],
    ["iat 6 s ahead", () => signed({ iat: nowSeconds + 6, exp: nowSeconds + 60 }), "not_yet_valid"],
    ["iat ahead of a passed nbf", () => signed({ nbf: 0, iat: nowSeconds + 6 }), "not_yet_valid"],
    ["nbf 6 s ahead", () => signed({ nbf: nowSeconds + 6 }), "not_yet_valid"],
    ["another subject token", () => signed({ sth: sha256Base64url("other") }), "binding"],
    ["no binding", () => signed({ sth: undefined }), "binding"],
    [
      "a challenge in place of the token",
      () => signed({ sth: undefined, nonce: sha256Base64url(subjectToken) }),
      "binding",
    ],
    ["a challenge beside the token", () => signed({ nonce: "c" }), "binding"],
    ["no jti", () => signed({ jti: undefined }), "malformed"],
    ["no exp", () => signed({ exp: undefined }), "malformed"],
    ["exp as text", () => signed({ exp: String(nowSeconds + 60) }), "malformed"],
    ["an empty text", () => "", "malformed"],
  ];

  test.each(cases)("%s", async (_name, make, cause, change) => {
    expect(await verifyActorProof(await make(), { subjectToken }, options(change))).toEqual({ ok: false, cause });
  });

  test("every cause has one of the specified labels", () => {
    expect(new Set(proofRefusals.map(popFailureCause))).toEqual(new Set(["invalid", "wrong_agent", "not_enrolled"]));
    expect(popFailureCause("agent")).toBe("wrong_agent");
    expect(popFailureCause("not_enrolled")).toBe("not_enrolled");
  });
});

test("dates are whole seconds", async () => {
  const now = nowSeconds + 0.7;
  const proof = await signActorProof(pair.signing, { ...statement(), nowSeconds: now }, { subjectToken });
  expect(await verifyActorProof(proof, { subjectToken }, options({ nowSeconds: now }))).toMatchObject({ ok: true });
});

test("iat within 5 s ahead and exp within the given leeway are accepted", async () => {
  const ahead = await signActorProof(pair.signing, { ...statement(), nowSeconds: nowSeconds + 5 }, { subjectToken });
  expect(await verifyActorProof(ahead, { subjectToken }, options())).toMatchObject({ ok: true });
  const late = await signActorProof(pair.signing, { ...statement(), nowSeconds: nowSeconds - 64 }, { subjectToken });
  expect(await verifyActorProof(late, { subjectToken }, options({ expLeewaySeconds: 5 }))).toMatchObject({ ok: true });
});
