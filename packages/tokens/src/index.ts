export { actChain, callerOfToken, nextAct } from "./act-chain.ts";
export {
  type ProofBinding,
  popFailureCause,
  proofRefusals,
  signActorProof,
  signIdentityAssertion,
  type VerifyProofOptions,
  verifyActorProof,
  verifyIdentityAssertion,
} from "./agent-proof.ts";
export {
  type HopClaims,
  isNarrowed,
  isSibling,
  issueHopToken,
  issueSecurityEvent,
  issueSibling,
  issueTransactionToken,
  type NarrowedClaims,
  type TransactionClaims,
} from "./claims.ts";
export { type CompactJws, decodeObject, splitCompactJws } from "./compact-jws.ts";
export { decodeBase64url, encodeBase64url, sha256Base64url } from "./encoding.ts";
export { type ContentFault, type ContentHeaders, contentFaultOf, isPlainJson } from "./json-content.ts";
export { memberText, withMemberText } from "./json-member.ts";
export type { PrivateJwk, PublicJwk } from "./jwk.ts";
export {
  generatePrivateJwk,
  type IssuerKey,
  importAgentKey,
  importIssuerKey,
  importJwks,
  type JwksDocument,
  type KeyLookup,
  type MacKey,
  readPublicKey,
  type SigningKey,
  thumbprint,
  toJwks,
  type VerificationKey,
  verificationKeyOf,
} from "./key-set.ts";
export {
  hopTokenLifetimeSeconds,
  narrowedClaims,
  rootGrantClaims,
  siblingClaims,
  transactionClaims,
} from "./next-claims.ts";
export {
  type BindingRefusal,
  bindingRefusalOf,
  bindParams,
  bindParamsValue,
  bindParsedParams,
  canonicalJson,
} from "./params-binding.ts";
export type { SentEvent } from "./push/event-text.ts";
export { type FollowPush, followPush, PushFault, type PushPorts, pushConcernsMs } from "./push/follow-push.ts";
export { type KeyRefusal, KeyRefused } from "./read-jwk.ts";
export { sealPrivateJwk, unsealPrivateJwk } from "./sealed-key.ts";
export { decodeUtf8, isJsonObject, type JsonFault, parseExactObject, parseStrictJson } from "./strict-json.ts";
export { toolDefinition } from "./tool-definition.ts";
export {
  decodeUnverifiedHopToken,
  decodeUnverifiedIssuer,
  decodeUnverifiedSubject,
  decodeUnverifiedTransactionToken,
  rememberDecoded,
  rememberVerified,
  type TokenKind,
  type TokenRefusal,
  tokenRefusals,
  type Verification,
  type VerifiedTokens,
  type VerifyOptions,
  type VerifyRemembering,
  verifyToken,
} from "./verify.ts";
