import { isAgentName, type PopFailureCause } from "@svc/core";
import { z } from "zod/mini";
import { signJwt } from "./claims.ts";
import { decodeObject, splitCompactJws } from "./compact-jws.ts";
import { sha256Base64url } from "./encoding.ts";
import type { SigningKey, VerificationKey } from "./key-set.ts";
import { type ClockOptions, refuse, timeRefusal } from "./refusal.ts";
import type { MaybePromise } from "./runtime/port.ts";

export const actorProofType = "agent-proof+jwt";
export const identityAssertionType = "agent-identity+jwt";

/** A proof is made for one request and lives no longer than it may take. */
export const proofLifetimeSeconds = 60;

/** Binds a proof to one use: the token it accompanies, or at enrollment the server's challenge. */
export type ProofBinding = { readonly subjectToken: string } | { readonly nonce: string };

export interface ProofStatement {
  /** The agent's name; both `iss` and `sub`. */
  readonly agent: string;
  /** The issuer for an actor proof, the target for an identity assertion. */
  readonly audience: string;
  readonly nowSeconds: number;
  readonly jti: string;
}

/** Signs an actor proof, the `actor_token` of RFC 8693 (docs/reference/tokens.md#proofs-by-an-agents-key). */
export const signActorProof = (key: SigningKey, statement: ProofStatement, binding: ProofBinding): Promise<string> =>
  signJwt(key, actorProofType, { ...writeStatement(statement), ...actorBinding(binding) });

/** Signs an identity assertion, the `Agent-Identity` header beside an access token. */
export const signIdentityAssertion = (
  key: SigningKey,
  statement: ProofStatement,
  accessToken: string,
): Promise<string> =>
  signJwt(key, identityAssertionType, { ...writeStatement(statement), ath: sha256Base64url(accessToken) });

const writeStatement = ({ agent, audience, nowSeconds, jti }: ProofStatement) => {
  const iat = Math.floor(nowSeconds);
  return { iss: agent, sub: agent, aud: audience, iat, exp: iat + proofLifetimeSeconds, jti };
};

const actorBinding = (binding: ProofBinding): Readonly<Record<string, string>> =>
  "nonce" in binding ? { nonce: binding.nonce } : { sth: sha256Base64url(binding.subjectToken) };

/**
 * Why a proof is refused. `agent`: from an agent that no proof is expected of; `not_enrolled`: that agent has no key; `lifetime`:
 * longer than a proof may live; `binding`: made for another token, or another challenge.
 */
export const proofRefusals = [
  "malformed",
  "type",
  "agent",
  "not_enrolled",
  "signature",
  "audience",
  "lifetime",
  "not_yet_valid",
  "expired",
  "binding",
] as const;
export type ProofRefusal = (typeof proofRefusals)[number];

export interface ProvenAgent {
  readonly agent: string;
  /** For the verifier to spend: a proof is good once. */
  readonly jti: string;
  readonly exp: number;
  /** The key that signed. */
  readonly kid: string;
}

export type ProofVerification =
  | { readonly ok: true; readonly proof: ProvenAgent }
  | { readonly ok: false; readonly cause: ProofRefusal };

export interface VerifyProofOptions extends ClockOptions {
  /**
   * The pinned keys of the agent that a proof names: none where it never enrolled, undefined where no proof of that
   * agent is expected. The name is not verified yet when this is called.
   */
  readonly keysOf: (agent: string) => MaybePromise<readonly VerificationKey[] | undefined>;
  readonly audience: string;
}

/** Verifies an actor proof. That its `jti` is fresh is for the caller to ensure. */
export const verifyActorProof = (
  token: string,
  binding: ProofBinding,
  options: VerifyProofOptions,
): Promise<ProofVerification> => verifyProof(token, actorProofType, actorBinding(binding), options);

/** Verifies an identity assertion that accompanies `accessToken`. */
export const verifyIdentityAssertion = (
  token: string,
  accessToken: string,
  options: VerifyProofOptions,
): Promise<ProofVerification> =>
  verifyProof(token, identityAssertionType, { ath: sha256Base64url(accessToken) }, options);

/** The closed label that metrics and spans use (docs/reference/tokens.md#proofs-by-an-agents-key). */
export function popFailureCause(refusal: ProofRefusal): PopFailureCause {
  if (refusal === "agent") return "wrong_agent";
  return refusal === "not_enrolled" ? "not_enrolled" : "invalid";
}

const agentName = z.string().check(z.refine(isAgentName));
const numericDate = z.int().check(z.minimum(0));
const proofPayload = z
  .looseObject({
    iss: agentName,
    sub: agentName,
    aud: z.string().check(z.minLength(1)),
    iat: numericDate,
    exp: numericDate,
    nbf: z.optional(numericDate),
    jti: z.string().check(z.minLength(1), z.maxLength(255)),
  })
  .check(z.refine(({ iss, sub }) => iss === sub));
type ProofPayload = z.infer<typeof proofPayload>;

async function verifyProof(
  token: string,
  typ: string,
  binding: Readonly<Record<string, string>>,
  options: VerifyProofOptions,
): Promise<ProofVerification> {
  const jws = splitCompactJws(token);
  if (jws === undefined) return refuse("malformed");
  if (jws.typ !== typ) return refuse("type");
  const payload = proofPayload.safeParse(decodeObject(jws.payloadSegment)).data;
  if (payload === undefined) return refuse("malformed");
  const keys = await options.keysOf(payload.iss);
  if (keys === undefined) return refuse("agent");
  if (keys.length === 0) return refuse("not_enrolled");
  const key = await signerAmong(keys, token, jws.alg);
  if (key === undefined) return refuse("signature");
  const { iss: agent, aud, iat, exp, jti } = payload;
  if (aud !== options.audience) return refuse("audience");
  if (exp <= iat || exp - iat > proofLifetimeSeconds) return refuse("lifetime");
  const cause = timeRefusal(payload, options);
  if (cause !== undefined) return refuse(cause);
  return bindsAlone(payload, binding) ? { ok: true, proof: { agent, jti, exp, kid: key.kid } } : refuse("binding");
}

/** The keys are the pinned ones of one agent, so `kid` has nothing to choose and is not consulted. */
async function signerAmong(keys: readonly VerificationKey[], token: string, alg: string) {
  for (const key of keys) if (key.algs.includes(alg) && (await key.check(token))) return key;
  return undefined;
}

/** Exactly the expected binding: a proof that also answers a challenge is no proof for an exchange. */
const bindsAlone = (payload: ProofPayload, binding: Readonly<Record<string, string>>): boolean =>
  ["sth", "nonce", "ath"].every((claim) => payload[claim] === binding[claim]);
