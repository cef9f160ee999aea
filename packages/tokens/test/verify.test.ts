import { createHmac } from "node:crypto";
import { decodeProtectedHeader, exportSPKI, importJWK, jwtVerify, SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import {
  decodeUnverifiedHopToken,
  decodeUnverifiedIssuer,
  issueHopToken,
  issueTransactionToken,
  type TokenKind,
  type VerifyOptions,
  verifyToken,
} from "../src/index.ts";
import {
  agentHop,
  forge,
  issuer,
  makeKeyPair,
  nowSeconds,
  payloadOf,
  rootGrant,
  toolHop,
  transaction,
  unsigned,
} from "./fixtures.ts";

const pair = await makeKeyPair();

const verify = (token: string, options: Partial<VerifyOptions> = {}, kind: TokenKind = "hop") =>
  verifyToken(kind, token, { keys: pair.keys, issuer, nowSeconds, ...options });

describe("with jose", () => {
  const kinds = [
    ["root grant", "at+jwt", "hop", rootGrant],
    ["agent's token", "at+jwt", "hop", agentHop],
    ["tool's token", "at+jwt", "hop", toolHop],
    ["transaction token", "txntoken+jwt", "transaction", transaction],
  ] as const;

  test.each(kinds)("jose verifies our %s", async (_name, typ, kind, claims) => {
    const token =
      kind === "hop"
        ? await issueHopToken(pair.signing, claims() as never)
        : await issueTransactionToken(pair.signing, claims() as never);
    const { payload } = await jwtVerify(token, await importJWK({ ...pair.signing.publicJwk }, "ES256"), {
      issuer,
      typ,
      algorithms: ["ES256"],
      requiredClaims: ["sub", "aud", "iat", "exp", "jti"],
      currentDate: new Date(nowSeconds * 1000),
    });
    expect(payload).toEqual(payloadOf(token));
    expect(decodeProtectedHeader(token)).toEqual({ alg: "ES256", typ, kid: pair.signing.kid });
  });

  test.each(kinds)("we verify jose's %s and read every claim", async (_name, typ, kind, claims) => {
    const want = claims();
    const ours =
      kind === "hop"
        ? await issueHopToken(pair.signing, want as never)
        : await issueTransactionToken(pair.signing, want as never);
    const token = await new SignJWT(payloadOf(ours))
      .setProtectedHeader({ alg: "ES256", typ, kid: pair.signing.kid })
      .sign(await importJWK({ ...pair.jwk }, "ES256"));
    expect(await verify(token, {}, kind)).toEqual({ ok: true, claims: want });
  });
});

describe("a token that the issuer did not sign is rejected, with any header", () => {
  const forgeries: [string, (claims: object) => string | Promise<string>, string][] = [
    ["alg none", (claims) => unsigned({ alg: "none", typ: "at+jwt", kid: pair.signing.kid }, claims), "malformed"],
    [
      "alg none, a signature",
      (claims) => unsigned({ alg: "none", typ: "at+jwt", kid: pair.signing.kid }, claims, "AAAA"),
      "signature",
    ],
    [
      "alg nOnE",
      (claims) => unsigned({ alg: "nOnE", typ: "at+jwt", kid: pair.signing.kid }, claims, "AAAA"),
      "signature",
    ],
    [
      "alg nOnE over a true signature",
      (claims) => forge(pair.jwk, { alg: "nOnE", typ: "at+jwt", kid: pair.signing.kid }, claims),
      "signature",
    ],
    [
      "alg ES384 over an ES256 signature",
      (claims) => forge(pair.jwk, { alg: "ES384", typ: "at+jwt", kid: pair.signing.kid }, claims),
      "signature",
    ],
    ["alg absent", (claims) => forge(pair.jwk, { typ: "at+jwt", kid: pair.signing.kid }, claims), "malformed"],
    ["HS256 keyed with our public key", hs256, "signature"],
    ["another key under our kid", async (claims) => forge((await makeKeyPair()).jwk, header(), claims), "signature"],
    ["kid absent", (claims) => forge(pair.jwk, { alg: "ES256", typ: "at+jwt" }, claims), "unknown_key"],
    ["kid a number", (claims) => forge(pair.jwk, { ...header(), kid: 1 }, claims), "malformed"],
    ["typ absent", (claims) => forge(pair.jwk, { alg: "ES256", kid: pair.signing.kid }, claims), "malformed"],
    ["typ JWT", (claims) => forge(pair.jwk, { ...header(), typ: "JWT" }, claims), "type"],
    ["typ in capitals", (claims) => forge(pair.jwk, { ...header(), typ: "AT+JWT" }, claims), "type"],
    [
      "typ with its media type",
      (claims) => forge(pair.jwk, { ...header(), typ: "application/at+jwt" }, claims),
      "type",
    ],
    ["typ of a transaction token", (claims) => forge(pair.jwk, { ...header(), typ: "txntoken+jwt" }, claims), "type"],
    [
      "typ of an identity assertion",
      (claims) => forge(pair.jwk, { ...header(), typ: "agent-identity+jwt" }, claims),
      "type",
    ],
    ["crit", (claims) => forge(pair.jwk, { ...header(), crit: ["exp"] }, claims), "malformed"],
    ["b64 false", (claims) => forge(pair.jwk, { ...header(), b64: false }, claims), "malformed"],
    ["jku", (claims) => forge(pair.jwk, { ...header(), jku: "https://evil.example/jwks" }, claims), "malformed"],
    ["x5u", (claims) => forge(pair.jwk, { ...header(), x5u: "https://evil.example/x5u" }, claims), "malformed"],
    ["a key of its own", withOwnKey, "malformed"],
    [
      "a repeated header member",
      (claims) => forge(pair.jwk, JSON.stringify(header()).replace("{", '{"alg":"none",'), claims),
      "malformed",
    ],
    ["a header that is no JSON", (claims) => forge(pair.jwk, "ES256", claims), "malformed"],
    ["a header that is an array", (claims) => forge(pair.jwk, [header()], claims), "malformed"],
    [
      "__proto__ in the header",
      (claims) => forge(pair.jwk, JSON.stringify(header()).replace("{", '{"__proto__":{},'), claims),
      "malformed",
    ],
  ];

  test.each(forgeries)("%s", async (_name, make, cause) => {
    const claims = payloadOf(await issueHopToken(pair.signing, toolHop()));
    expect(await verify(await make(claims))).toEqual({ ok: false, cause });
  });

  const kids = ["../../../etc/passwd", "' or 1=1 --", "a\0b", "k".repeat(10_000), "__proto__", "constructor", ""];
  test.each(kids.map((kid) => [kid.slice(0, 20), kid]))("kid %j is an unknown key", async (_name, kid) => {
    const claims = payloadOf(await issueHopToken(pair.signing, toolHop()));
    const cause = kid.length > 9_000 ? /malformed|unknown_key/ : /unknown_key/;
    const verification = await verify(forge(pair.jwk, { ...header(), kid }, claims));
    expect(verification).toMatchObject({ ok: false, cause: expect.stringMatching(cause) });
  });

  const header = () => ({ alg: "ES256", typ: "at+jwt", kid: pair.signing.kid });

  async function hs256(claims: object): Promise<string> {
    const publicKey = await importJWK({ ...pair.signing.publicJwk }, "ES256", { extractable: true });
    const input = unsigned({ ...header(), alg: "HS256" }, claims).slice(0, -1);
    const mac = createHmac("sha256", await exportSPKI(publicKey as CryptoKey));
    return `${input}.${mac.update(input).digest("base64url")}`;
  }

  async function withOwnKey(claims: object): Promise<string> {
    const own = await makeKeyPair();
    return forge(own.jwk, { alg: "ES256", typ: "at+jwt", kid: own.signing.kid, jwk: own.signing.publicJwk }, claims);
  }
});

describe("form", () => {
  const broken: [string, (token: string) => string][] = [
    ["empty", () => ""],
    ["no dots", () => "abc"],
    ["two segments", (token) => token.split(".").slice(0, 2).join(".")],
    ["four segments", (token) => `${token}.AAAA`],
    ["an empty payload", (token) => token.replace(/\.[^.]+\./, "..")],
    ["padding", (token) => `${token}==`],
    ["a trailing line feed", (token) => `${token}\n`],
    ["a leading space", (token) => ` ${token}`],
    ["a comma and a second token", (token) => `${token},${token}`],
    ["standard base64 in the signature", (token) => `${token.slice(0, -86)}${"+/".repeat(43)}`],
    [
      "stray bits after the signature",
      (token) => `${token.slice(0, -1)}${token.endsWith("Q") ? "R" : nextLetter(token)}`,
    ],
    ["more than 16 KiB", (token) => token + "A".repeat(16_384)],
    ["a byte that is no UTF-8", () => `${Buffer.from([0xff]).toString("base64url")}.e30.AAAA`],
  ];
  const nextLetter = (token: string) => String.fromCharCode(token.charCodeAt(token.length - 1) + 1);

  test.each(broken)("%s is rejected", async (_name, breakIt) => {
    const token = await issueHopToken(pair.signing, toolHop());
    expect(await verify(breakIt(token))).toEqual({ ok: false, cause: "malformed" });
  });

  test("one changed bit anywhere in the signed part is rejected", async () => {
    const token = await issueHopToken(pair.signing, toolHop());
    for (let at = 0; at < token.length; at += 7) {
      const other = token[at] === "A" ? "B" : "A";
      if (token[at] === ".") continue;
      expect((await verify(token.slice(0, at) + other + token.slice(at + 1))).ok).toBe(false);
    }
  });

  test("a signature of another length is rejected", async () => {
    const token = await issueHopToken(pair.signing, toolHop());
    expect(await verify(`${token.slice(0, -86)}AAAA`)).toEqual({ ok: false, cause: "signature" });
  });
});

describe("time", () => {
  const cases: [string, object, Partial<VerifyOptions>, string | undefined][] = [
    ["one second before exp", { exp: nowSeconds + 1 }, {}, undefined],
    ["the exact second of exp", { exp: nowSeconds }, {}, "expired"],
    ["a fraction before exp", { exp: nowSeconds + 1 }, { nowSeconds: nowSeconds + 0.999 }, undefined],
    [
      "within a foreign clock's leeway",
      { exp: nowSeconds },
      { expLeewaySeconds: 5, nowSeconds: nowSeconds + 4 },
      undefined,
    ],
    ["at the end of that leeway", { exp: nowSeconds }, { expLeewaySeconds: 5, nowSeconds: nowSeconds + 5 }, "expired"],
    ["iat 5 s ahead", { iat: nowSeconds + 5, exp: nowSeconds + 60 }, {}, undefined],
    ["iat 6 s ahead", { iat: nowSeconds + 6, exp: nowSeconds + 60 }, {}, "not_yet_valid"],
    ["nbf 5 s ahead", { nbf: nowSeconds + 5 }, {}, undefined],
    ["nbf 6 s ahead", { nbf: nowSeconds + 6 }, {}, "not_yet_valid"],
    ["nbf passed, iat ahead", { nbf: 0, iat: nowSeconds + 6 }, {}, "not_yet_valid"],
    ["another issuer", { iss: "https://issuer.example/" }, {}, "issuer"],
    ["issued in the epoch's second", { iat: nowSeconds }, { minIssuedAtSeconds: nowSeconds }, undefined],
    ["issued before the epoch", { iat: nowSeconds - 1 }, { minIssuedAtSeconds: nowSeconds }, "superseded"],
  ];

  test.each(cases)("%s", async (_name, change, options, cause) => {
    const token = await issueHopToken(pair.signing, { ...toolHop(), ...change });
    expect(await verify(token, options)).toMatchObject(cause === undefined ? { ok: true } : { ok: false, cause });
  });
});

test("a removed key verifies no token, and an older kept key still does", async () => {
  const newer = await makeKeyPair();
  const token = await issueHopToken(pair.signing, agentHop());
  const both = new Map([...pair.keys, ...newer.keys]);
  expect(await verify(token, { keys: both })).toMatchObject({ ok: true });
  expect(await verify(token, { keys: newer.keys })).toEqual({ ok: false, cause: "unknown_key" });
});

test("no kind of token is accepted as another", async () => {
  const hop = await issueHopToken(pair.signing, toolHop());
  const txn = await issueTransactionToken(pair.signing, transaction());
  expect(await verify(hop, {}, "transaction")).toEqual({ ok: false, cause: "type" });
  expect(await verify(txn, {}, "hop")).toEqual({ ok: false, cause: "type" });
});

describe("unverified reading", () => {
  test("the holder reads its own hop token, even expired or of an unknown key", async () => {
    const claims = { ...agentHop(), exp: 1 };
    expect(decodeUnverifiedHopToken(await issueHopToken(pair.signing, claims))).toEqual(claims);
  });

  test("only a hop token is read as one", async () => {
    const tokens = [await issueTransactionToken(pair.signing, transaction()), "", "a.b.c", unsigned({}, {}, "AAAA")];
    expect(tokens.map(decodeUnverifiedHopToken)).toEqual([undefined, undefined, undefined, undefined]);
  });

  test("the issuer of any JWT is read", async () => {
    expect(decodeUnverifiedIssuer(await issueHopToken(pair.signing, agentHop()))).toBe(issuer);
    expect(decodeUnverifiedIssuer(unsigned({ alg: "RS256", x5t: "x" }, { iss: "https://idp.example" }, "AAAA"))).toBe(
      "https://idp.example",
    );
    for (const other of [
      "opaque",
      "",
      "a.b.c",
      unsigned({}, { iss: 1 }),
      unsigned({}, [1]),
      unsigned({}, { iss: issuer, x: "A".repeat(50_000) }),
    ]) {
      expect(decodeUnverifiedIssuer(other)).toBeUndefined();
    }
  });
});
