import { mutationsOf, testsOf } from "./mutation.ts";

const verify = testsOf("packages/tokens/test/verify.test.ts");
const claims = testsOf("packages/tokens/test/claims.test.ts");
const proof = testsOf("packages/tokens/test/agent-proof.test.ts");
const keys = testsOf("packages/tokens/test/key-set.test.ts");
const binding = testsOf("packages/tokens/test/params-binding.test.ts");
const forgeries = verify("a token that the issuer did not sign is rejected, with any header > %s");

export const ofTokens = mutationsOf("packages/tokens/src", [
  [
    "signature-unchecked",
    "verify.ts",
    'if (!(typeof isSigned === "boolean" ? isSigned : await isSigned)) return refuse("signature");',
    "",
    verify("one changed bit anywhere in the signed part is rejected"),
  ],
  [
    "any-token-is-a-sibling",
    "claims.ts",
    'return claims?.renewed === true && claims.targetKind !== "tool" ? claims : undefined;',
    "return claims;",
    testsOf("packages/tokens/test/siblings.test.ts")("what the issuer did not make is no sibling > %s"),
  ],
  [
    "algorithm-from-the-token",
    "verify.ts",
    'if (!key.algs.includes(jws.alg)) return refuse("signature");',
    "",
    forgeries,
  ],
  ["kind-unchecked", "verify.ts", 'if (jws.typ !== kinds[kind].typ) return refuse("type");', "", forgeries],
  [
    "expired-a-second-late",
    "refusal.ts",
    "return nowSeconds >= exp + expLeewaySeconds",
    "return nowSeconds > exp + expLeewaySeconds",
    verify("time > %s"),
  ],
  ["issuer-unchecked", "verify.ts", 'if (claims.iss !== issuer) return refuse("issuer");', "", verify("time > %s")],
  [
    "epoch-ignored",
    "verify.ts",
    'if (claims.iat < minIssuedAtSeconds) return refuse("superseded");',
    "",
    verify("time > %s"),
  ],
  [
    "future-tokens-accepted",
    "refusal.ts",
    'if (Math.max(iat, nbf) > nowSeconds + futureLeewaySeconds) return "not_yet_valid";',
    "",
    verify("time > %s"),
  ],
  [
    "any-history",
    "claims.ts",
    "isHistoryOf(payload.sub, payload.hop, payload.act) &&",
    "",
    claims("a %s token whose %s is %j is malformed, though the issuer signed it"),
  ],
  ["header-may-offer-a-key", "compact-jws.ts", "z.strictObject({ alg", "z.object({ alg", forgeries],
  [
    "proof-for-another-token",
    "agent-proof.ts",
    '["sth", "nonce", "ath"].every(',
    '["sth", "nonce", "ath"].some(',
    proof("an agent's proof or assertion is rejected > %s"),
  ],
  [
    "proof-of-long-life",
    "agent-proof.ts",
    "if (exp <= iat || exp - iat > proofLifetimeSeconds)",
    "if (exp <= iat)",
    proof("an agent's proof or assertion is rejected > %s"),
  ],
  [
    "proof-for-another-audience",
    "agent-proof.ts",
    'if (aud !== options.audience) return refuse("audience");',
    "",
    proof("an agent's proof or assertion is rejected > %s"),
  ],
  [
    "other-media-types-bound",
    "json-content.ts",
    "if (!jsonType.test(type))",
    'if (type === "")',
    testsOf("packages/verifier/test/body-grammar.test.ts")(
      "%s acts on the bound parameters alone > a body of type %s is not admitted",
    ),
  ],
  [
    "repeated-members-bound",
    "params-binding.ts",
    'if (duplicateDepth !== null) return "duplicate_member";',
    "",
    binding("%.30s cannot be bound: %s"),
  ],
  [
    "changing-numbers-bound",
    "params-binding.ts",
    'if (unsafeNumber) return "unsafe_number";',
    "",
    binding("%.30s cannot be bound: %s"),
  ],
  [
    "contested-key-accepted",
    "key-set.ts",
    "for (const kid of contested) keys.delete(kid);",
    "",
    keys("a kid that appears twice is ignored"),
  ],
  [
    "bytes-keep-a-push-alive",
    "push/follow-push.ts",
    "      if (events.length > 0) return events;",
    "      return events;",
    testsOf("packages/tokens/test/follow-push.test.ts")(
      "a stream > after %s is opened again, and brings nothing of that answer",
    ),
  ],
  [
    "sealed-key-moved",
    "sealed-key.ts",
    "if (protectedHeader.kid === kid) return",
    "return",
    keys("a sealed key > %s does not open"),
  ],
]);
