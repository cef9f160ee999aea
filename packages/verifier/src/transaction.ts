import {
  bindParams,
  bindParamsValue,
  type NarrowedClaims,
  sha256Base64url,
  type TransactionClaims,
  type VerifyOptions,
  verifyToken,
} from "@svc/tokens";
import { AdmissionRefused } from "./admission.ts";

/**
 * The parameters of a call: its body as text or bytes, or its parsed value. Give the value only where the application
 * itself uses it.
 */
export type CallParams = string | Uint8Array | Readonly<Record<string, unknown>>;

/**
 * Verifies the transaction token of a call (docs/reference/tokens.md#transaction-token).
 *
 * @throws {AdmissionRefused} `transaction_missing`, `transaction_invalid` or `params_mismatch`
 */
export async function checkTransaction(
  token: string | undefined,
  hop: NarrowedClaims,
  params: CallParams | undefined,
  options: VerifyOptions,
): Promise<TransactionClaims> {
  if (token === undefined) throw new AdmissionRefused("transaction_missing");
  const verification = await verifyToken("transaction", token, options);
  if (!verification.ok || !belongsTo(verification.claims, hop)) throw new AdmissionRefused("transaction_invalid");
  const { claims } = verification;
  if (claims.paramsHash !== hashOf(params)) throw new AdmissionRefused("params_mismatch");
  return claims;
}

const belongsTo = (transaction: TransactionClaims, hop: NarrowedClaims): boolean =>
  transaction.sub === hop.sub &&
  transaction.aud === hop.aud &&
  transaction.target === hop.aud &&
  transaction.scope === hop.scope &&
  transaction.sessionId === hop.sessionId &&
  transaction.actionId === hop.actionId &&
  transaction.caller === hop.act.sub &&
  transaction.hopJtiHash === sha256Base64url(hop.jti);

function hashOf(params: CallParams | undefined): string | undefined {
  if (params === undefined) return undefined;
  const isText = typeof params === "string" || params instanceof Uint8Array;
  const binding = isText ? bindParams(params) : bindParamsValue(params);
  return binding.ok ? binding.paramsHash : undefined;
}
