export { type Act, actChain, callerOfToken, nextAct } from "./act-chain.ts";
export {
  actorProofType,
  identityAssertionType,
  type ProofBinding,
  type ProofRefusal,
  type ProofStatement,
  type ProofVerification,
  type ProvenAgent,
  popFailureCause,
  proofLifetimeSeconds,
  proofRefusals,
  signActorProof,
  signIdentityAssertion,
  type VerifyProofOptions,
  verifyActorProof,
  verifyIdentityAssertion,
} from "./agent-proof.ts";
export {
  type HopClaims,
  hopTokenType,
  isNarrowed,
  type NarrowedClaims,
  type TransactionClaims,
  transactionTokenType,
} from "./claims.ts";
export { type CompactJws, decodeObject, splitCompactJws } from "./compact-jws.ts";
export { decodeBase64url, encodeBase64url, sha256Base64url } from "./encoding.ts";
export { issueHopToken, issueTransactionToken } from "./issue.ts";
export type { PrivateJwk, PublicJwk } from "./jwk.ts";
export {
  generatePrivateJwk,
  importAgentKey,
  importIssuerKey,
  importJwks,
  type JwksDocument,
  type KeyLookup,
  KeyRefused,
  type PublicKeyReading,
  readPublicKey,
  type SigningKey,
  thumbprint,
  toJwks,
  type VerificationKey,
  verificationKeyOf,
} from "./key-set.ts";
export {
  type AllowFacts,
  type ConsentFacts,
  hopTokenLifetimeSeconds,
  type Issuance,
  narrowedClaims,
  rootGrantClaims,
  siblingClaims,
  transactionClaims,
} from "./next-claims.ts";
export {
  type BindingRefusal,
  bindingRefusals,
  bindParams,
  bindParamsValue,
  bindParsedParams,
  canonicalJson,
  isBindable,
  type ParamsBinding,
} from "./params-binding.ts";
export { type KeyRefusal, keyRefusals } from "./read-jwk.ts";
export { sealPrivateJwk, unsealPrivateJwk } from "./sealed-key.ts";
export {
  isJsonObject,
  type JsonFacts,
  type JsonFault,
  jsonFaults,
  maxParamsDepth,
  parseStrictJson,
  type StrictJson,
  type StrictJsonOptions,
} from "./strict-json.ts";
export {
  type RememberOptions,
  rememberDecoded,
  rememberVerified,
  type VerifiedTokens,
  type VerifyRemembering,
} from "./verified-tokens.ts";
export {
  type ClaimsOf,
  decodeUnverifiedHopToken,
  decodeUnverifiedIssuer,
  type TokenKind,
  type TokenRefusal,
  tokenRefusals,
  type Verification,
  type VerifyOptions,
  verifyToken,
} from "./verify.ts";
