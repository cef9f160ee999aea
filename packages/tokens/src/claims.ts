import { type Taint, type TargetKind, taints, targetKinds } from "@svc/core";
import { z } from "zod/mini";
import { type Act, actClaim, isHistoryOf } from "./act-chain.ts";
import { typeOf } from "./compact-jws.ts";
import type { MacKey, SigningKey } from "./key-set.ts";

const text = z.string().check(z.minLength(1));
const numericDate = z.int().check(z.minimum(0));
const ordinal = z.int().check(z.minimum(1));

const registered = {
  iss: text,
  /** The consenting human, the same on every hop. */
  sub: text,
  aud: text,
  /** The consented scope on a root grant, afterwards the data class (for an agent: classes, space-separated). */
  scope: text,
  iat: numericDate,
  exp: numericDate,
  nbf: z.exactOptional(numericDate),
  jti: text,
};
type RegisteredClaims = Readonly<z.output<z.ZodMiniObject<typeof registered>>>;

/**
 * A hop token (docs/reference/tokens.md#hop-token, RFC 9068, RFC 8693 section 4.1). JWT's registered names stay as they
 * are; dates are integers, in seconds since 1970.
 *
 * Three holders share the kind: `targetKind` null is the root grant (hop 1, audience the issuer, no `act`), "agent" an
 * agent's token, "tool" a token for one resource server.
 */
export interface HopClaims extends RegisteredClaims {
  readonly hop: number;
  /** Who acted before, latest first; null on a root grant. */
  readonly act: Act | null;
  readonly sessionId: string;
  readonly policyVersion: number;
  /** The audit record the token was narrowed from; null on a root grant. */
  readonly actionId: string | null;
  readonly taint: Taint;
  readonly targetKind: TargetKind | null;
  readonly privileged: boolean;
  /** A sibling from a renewal, which no resource server admits. */
  readonly renewed: boolean;
}

/** A token made by an exchange, or a renewal of one: an agent's or a tool's. */
export type NarrowedClaims = HopClaims & {
  readonly act: Act;
  readonly actionId: string;
  readonly targetKind: TargetKind;
};

/** False for the root grant. */
export const isNarrowed = (claims: HopClaims): claims is NarrowedClaims => claims.targetKind !== null;

/**
 * A transaction token: one privileged call with exactly these parameters (docs/reference/tokens.md#transaction-token).
 */
export interface TransactionClaims extends RegisteredClaims {
  /** `txn`: the action this call is. */
  readonly actionId: string;
  /** `req_wl`: the requesting workload, which is the caller. */
  readonly caller: string;
  readonly sessionId: string;
  readonly target: string;
  readonly paramsHash: string;
  /** base64url(SHA-256(jti)) of the hop token it accompanies. */
  readonly hopJtiHash: string;
}

export const hopTokenType = "at+jwt";
/** Never a verifier's to read: only the issuer admits a sibling (docs/reference/tokens.md#siblings). */
export const siblingType = "sibling+jwt";
export const transactionTokenType = "txntoken+jwt";
export const securityEventType = "secevent+jwt";

const hopPayload = z.object({
  ...registered,
  hop: ordinal,
  act: z.optional(actClaim),
  sid: text,
  policy_version: ordinal,
  action_id: z.optional(text),
  taint: z.enum(taints),
  target_kind: z.optional(z.enum(targetKinds)),
  privileged: z.optional(z.boolean()),
  renewed: z.optional(z.boolean()),
});
type HopPayload = z.infer<typeof hopPayload>;

const transactionPayload = z.object({
  ...registered,
  txn: text,
  req_wl: text,
  sid: text,
  tctx: z.object({ target: text, params_hash: text }),
  hop_jti_hash: text,
});
type TransactionPayload = z.infer<typeof transactionPayload>;

const isRootPayload = (payload: HopPayload): boolean =>
  payload.hop === 1 &&
  payload.aud === payload.iss &&
  payload.act === undefined &&
  payload.action_id === undefined &&
  payload.target_kind === undefined &&
  payload.privileged === undefined;

/**
 * The chain must be as long as `hop` and end in the token's own subject: a different `act` would give the caller another
 * history, or the session another human.
 */
const isNarrowedPayload = (payload: HopPayload): boolean =>
  payload.hop > 1 &&
  payload.act !== undefined &&
  isHistoryOf(payload.sub, payload.hop, payload.act) &&
  payload.action_id !== undefined &&
  payload.target_kind !== undefined &&
  payload.privileged !== undefined;

/** The claims of a hop token's payload, or undefined where one is missing or odd. Unknown claims are ignored. */
export function readHopClaims(payload: unknown): HopClaims | undefined {
  const { data } = hopPayload.safeParse(payload);
  if (data === undefined || !(isRootPayload(data) || isNarrowedPayload(data))) return undefined;
  const { sid, policy_version, act = null, action_id = null, target_kind = null, privileged, renewed, ...same } = data;
  return {
    ...same,
    act,
    sessionId: sid,
    policyVersion: policy_version,
    actionId: action_id,
    targetKind: target_kind,
    privileged: privileged === true,
    renewed: renewed === true,
  };
}

/** By its header alone, unverified. */
export const isSibling = (token: string): boolean => typeOf(token) === siblingType;

/** The claims of a sibling: those of a hop token that an agent or the human holds, and that was renewed. */
export function readSiblingClaims(payload: unknown): HopClaims | undefined {
  const claims = readHopClaims(payload);
  return claims?.renewed === true && claims.targetKind !== "tool" ? claims : undefined;
}

/** Member by member: copying the rest of an object takes twice as long. */
function writeHopClaims(claims: HopClaims): HopPayload {
  const { nbf, act, actionId, targetKind, privileged, renewed } = claims;
  return {
    iss: claims.iss,
    sub: claims.sub,
    aud: claims.aud,
    scope: claims.scope,
    iat: claims.iat,
    exp: claims.exp,
    jti: claims.jti,
    hop: claims.hop,
    sid: claims.sessionId,
    policy_version: claims.policyVersion,
    taint: claims.taint,
    ...(nbf !== undefined && { nbf }),
    ...(act !== null && { act }),
    ...(actionId !== null && { action_id: actionId }),
    ...(targetKind !== null && { target_kind: targetKind, privileged }),
    ...(renewed && { renewed }),
  };
}

/** The claims of a transaction token's payload, or undefined where one is missing or odd. */
export function readTransactionClaims(payload: unknown): TransactionClaims | undefined {
  const { data } = transactionPayload.safeParse(payload);
  if (data === undefined) return undefined;
  const { txn: actionId, req_wl: caller, sid: sessionId, tctx, hop_jti_hash: hopJtiHash, ...same } = data;
  const { target, params_hash: paramsHash } = tctx;
  return { ...same, actionId, caller, sessionId, target, paramsHash, hopJtiHash };
}

function writeTransactionClaims(claims: TransactionClaims): TransactionPayload {
  const { actionId: txn, caller: req_wl, sessionId: sid, target, paramsHash, hopJtiHash, ...same } = claims;
  return { ...same, txn, req_wl, sid, tctx: { target, params_hash: paramsHash }, hop_jti_hash: hopJtiHash };
}

/** Signs a hop token with exactly these claims. */
export const issueHopToken = (key: SigningKey, claims: HopClaims): Promise<string> =>
  signJwt(key, hopTokenType, writeHopClaims(claims));

/** Makes a sibling with exactly these claims. */
export const issueSibling = (key: MacKey, claims: HopClaims): Promise<string> =>
  signJwt(key, siblingType, writeHopClaims(claims));

/** Signs a transaction token with exactly these claims. */
export const issueTransactionToken = (key: SigningKey, claims: TransactionClaims): Promise<string> =>
  signJwt(key, transactionTokenType, writeTransactionClaims(claims));

/** Signs a security event token (RFC 8417). Nothing of ours accepts one as another token. */
export const issueSecurityEvent = (key: SigningKey, claims: object): Promise<string> =>
  signJwt(key, securityEventType, claims);

/** The header is the key's and the kind's; no caller adds to it. */
export const signJwt = async (
  key: Pick<SigningKey, "alg" | "kid" | "sign">,
  typ: string,
  payload: object,
): Promise<string> => key.sign({ alg: key.alg, typ, kid: key.kid }, JSON.stringify(payload));
