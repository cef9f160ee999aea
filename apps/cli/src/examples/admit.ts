import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { bindParams } from "@svc/tokens";
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from "jose";
import type { Operation } from "./operations.ts";

const { CONTROL_PLANE = "http://127.0.0.1:8080", ISSUER: issuer = CONTROL_PLANE } = process.env;
const keys = createRemoteJWKSet(new URL("/.well-known/jwks.json", CONTROL_PLANE));

export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** What the tokens of an admitted call say (docs/reference/tokens.md#hop-token). */
export interface Seen {
  readonly sub: unknown;
  readonly act: unknown;
  readonly hop: unknown;
  readonly audience: unknown;
  readonly scope: unknown;
  readonly session_id: unknown;
  readonly action_id: unknown;
  readonly taint: unknown;
  /** Whether the body was bound by a transaction token. */
  readonly bound: boolean;
}

/** Null for a call that presents nothing. Throws Refused for one that presents what does not hold. */
export async function admit(headers: IncomingHttpHeaders, operation: Operation, body: Buffer): Promise<Seen | null> {
  if (headers.authorization === undefined) return null;
  const [, token] = /^Bearer (\S+)$/.exec(headers.authorization) ?? [];
  if (token === undefined) throw new Refused(401, "the bearer is malformed");
  const hop = await verified(token, operation, "at+jwt");
  if (hop.scope !== operation.data_classes[0]) throw new Refused(403, "the token is for another data class");
  if (hop.renewed !== undefined) throw new Refused(401, "the token was never spent on an allow");
  if (hop.sid !== headers["x-svc-session"]) throw new Refused(401, "the token is of another session");
  if (operation.privileged) await admitTransaction(headers["txn-token"], operation, hop, body);
  return {
    sub: hop.sub,
    act: hop.act,
    hop: hop.hop,
    audience: hop.aud,
    scope: hop.scope,
    session_id: hop.sid,
    action_id: hop.action_id,
    taint: hop.taint,
    bound: operation.privileged,
  };
}

async function admitTransaction(header: unknown, operation: Operation, hop: JWTPayload, body: Buffer): Promise<void> {
  if (typeof header !== "string") throw new Refused(403, "a privileged call needs one transaction token");
  const transaction = await verified(header, operation, "txntoken+jwt");
  const binding = bindParams(body);
  const { params_hash } = transaction.tctx as { params_hash?: unknown };
  if (transaction.txn !== hop.action_id || transaction.hop_jti_hash !== sha256(hop.jti ?? "")) {
    throw new Refused(403, "the transaction token belongs to another call");
  }
  if (!binding.ok || binding.paramsHash !== params_hash)
    throw new Refused(403, "the body is not the one that was bound");
}

async function verified(token: string, { ref }: Operation, typ: string): Promise<JWTPayload> {
  try {
    const options = { issuer, audience: ref, typ, algorithms: ["ES256"], requiredClaims: ["exp", "iat", "jti", "sub"] };
    const { payload } = await jwtVerify(token, keys, options);
    return payload;
  } catch (cause) {
    if (cause instanceof errors.JOSEError) throw new Refused(401, "the token does not verify");
    throw cause;
  }
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64url");
