import {
  type HopClaims,
  hopTokenType,
  type TransactionClaims,
  transactionTokenType,
  writeHopClaims,
  writeTransactionClaims,
} from "./claims.ts";
import type { SigningKey } from "./key-set.ts";

/** Signs a hop token with exactly these claims. */
export const issueHopToken = (key: SigningKey, claims: HopClaims): Promise<string> =>
  signJwt(key, hopTokenType, writeHopClaims(claims));

/** Signs a transaction token with exactly these claims. */
export const issueTransactionToken = (key: SigningKey, claims: TransactionClaims): Promise<string> =>
  signJwt(key, transactionTokenType, writeTransactionClaims(claims));

/** The header is the key's and the kind's; no caller adds to it. */
export const signJwt = async (key: SigningKey, typ: string, payload: object): Promise<string> =>
  key.sign({ alg: key.alg, typ, kid: key.kid }, JSON.stringify(payload));
