import fc from "fast-check";
import { expect, test } from "vitest";
import {
  decodeUnverifiedHopToken,
  issueHopToken,
  rememberDecoded,
  rememberVerified,
  type VerificationKey,
  verifyToken,
} from "../src/index.ts";
import { agentHop, issuer, makeKeyPair, nowSeconds, rootGrant, toolHop } from "./fixtures.ts";

const pair = await makeKeyPair();

/** A lookup whose one key counts the signatures it checked. */
function counting() {
  const checked: string[] = [];
  const key: VerificationKey = {
    ...pair.verification,
    check: (token) => {
      checked.push(token);
      return pair.verification.check(token);
    },
  };
  return { checked, keys: new Map([[key.kid, key]]) };
}

const options = (keys: ReadonlyMap<string, VerificationKey>, now = nowSeconds) => ({ keys, issuer, nowSeconds: now });

test("a signature is checked once", async () => {
  const { checked, keys } = counting();
  const { verify } = rememberVerified("hop", { capacity: 10 });
  const claims = agentHop();
  const token = await issueHopToken(pair.signing, claims);
  for (let n = 0; n < 3; n++) expect(await verify(token, options(keys))).toEqual({ ok: true, claims });
  expect(checked).toHaveLength(1);
});

test("time, issuer and epoch are checked every time", async () => {
  const { keys } = counting();
  const { verify } = rememberVerified("hop", { capacity: 10 });
  const token = await issueHopToken(pair.signing, agentHop());
  expect(await verify(token, options(keys))).toMatchObject({ ok: true });
  expect(await verify(token, options(keys, nowSeconds + 60))).toEqual({ ok: false, cause: "expired" });
  expect(await verify(token, { ...options(keys), issuer: "https://other" })).toEqual({ ok: false, cause: "issuer" });
  expect(await verify(token, { ...options(keys), minIssuedAtSeconds: nowSeconds + 1 })).toEqual({
    ok: false,
    cause: "superseded",
  });
});

test("removing or replacing a key removes what it verified from the cache", async () => {
  const { keys } = counting();
  const { verify } = rememberVerified("hop", { capacity: 10 });
  const token = await issueHopToken(pair.signing, agentHop());
  expect(await verify(token, options(keys))).toMatchObject({ ok: true });

  const other = await makeKeyPair();
  const impostor = new Map([[pair.signing.kid, { ...other.verification, kid: pair.signing.kid }]]);
  expect(await verify(token, options(impostor))).toEqual({ ok: false, cause: "signature" });
  expect(await verify(token, options(new Map()))).toEqual({ ok: false, cause: "unknown_key" });
});

test("a rejected token is not cached", async () => {
  const { checked, keys } = counting();
  const { verify } = rememberVerified("hop", { capacity: 10 });
  const token = await issueHopToken(pair.signing, agentHop());
  const forged = `${token.slice(0, -4)}AAAA`;
  for (let n = 0; n < 2; n++) expect(await verify(forged, options(keys))).toMatchObject({ ok: false });
  for (let n = 0; n < 2; n++) expect(await verify(token, options(keys, nowSeconds + 60))).toMatchObject({ ok: false });
  expect(checked).toHaveLength(4);
});

test("at most its capacity is cached, and the least recently used is dropped", async () => {
  const { checked, keys } = counting();
  const { verify } = rememberVerified("hop", { capacity: 2 });
  const tokens = await Promise.all([1, 2, 3].map(() => issueHopToken(pair.signing, agentHop())));
  for (const token of tokens) await verify(token, options(keys));
  expect(checked).toEqual(tokens);
  const [oldest = "", , newest = ""] = tokens;
  await verify(newest, options(keys));
  await verify(oldest, options(keys));
  expect(checked).toEqual([...tokens, oldest]);
});

test("a token that is presented once is dropped at its use, and still verifies", async () => {
  const { checked, keys } = counting();
  const { verify, prime } = rememberVerified("hop", { capacity: 10, once: true });
  const claims = agentHop();
  const token = await issueHopToken(pair.signing, claims);
  for (const key of keys.values()) prime(token, claims, key);
  const checks: number[] = [];
  for (let n = 0; n < 2; n++) {
    expect(await verify(token, options(keys))).toEqual({ ok: true, claims });
    checks.push(checked.length);
  }
  expect(checks).toEqual([0, 1]);
});

const name = fc.stringMatching(/^[a-z][a-z0-9.-]{0,30}$/);
const hopClaims = fc
  .tuple(
    fc.constantFrom(rootGrant, agentHop, toolHop),
    fc.record({ jti: name, scope: name, policyVersion: fc.integer({ min: 1, max: 1_000_000 }) }),
  )
  .map(([kind, members]) => ({ ...kind(), ...members }));

test("a primed token is accepted like a verified one, as long as its key is in the lookup", async () => {
  const { checked, keys } = counting();
  const priming = rememberVerified("hop", { capacity: 10 });
  const impostor = { ...(await makeKeyPair()).verification, kid: pair.signing.kid };
  await fc.assert(
    fc.asyncProperty(hopClaims, async (claims) => {
      const token = await issueHopToken(pair.signing, claims);
      for (const key of keys.values()) priming.prime(token, claims, key);
      const primeedFor = await priming.verify(token, options(keys));
      expect(checked).toEqual([]);
      expect(primeedFor).toEqual(
        await verifyToken("hop", token, options(new Map([[impostor.kid, pair.verification]]))),
      );
      expect(primeedFor).toMatchObject({ ok: true });
      const replaced = await priming.verify(token, options(new Map([[impostor.kid, impostor]])));
      expect(replaced).toEqual({ ok: false, cause: "signature" });
    }),
  );
});

test("priming a token admits no other", async () => {
  const { keys } = counting();
  const { verify, prime } = rememberVerified("hop", { capacity: 10 });
  const claims = agentHop();
  const token = await issueHopToken(pair.signing, claims);
  for (const key of keys.values()) prime(token, claims, key);
  for (const other of [`${token.slice(0, -4)}AAAA`, "no.hop.token", ""]) {
    expect(await verify(other, options(keys))).toMatchObject({ ok: false });
  }
});

test("a token decodes to the same claims, cached or not", async () => {
  const decode = rememberDecoded({ capacity: 2 });
  const tokens = await Promise.all(
    ["one", "two", "three"].map((jti) => issueHopToken(pair.signing, { ...agentHop(), jti })),
  );
  for (const token of [...tokens, "no.hop.token", ...tokens.toReversed()]) {
    expect(decode(token)).toEqual(decodeUnverifiedHopToken(token));
  }
});
