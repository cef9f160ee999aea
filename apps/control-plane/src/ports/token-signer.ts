import type { SessionFacts } from "@svc/core";
import type { HopClaims, TransactionClaims } from "@svc/tokens";

export interface TokenSigner {
  hopToken(claims: HopClaims): Promise<string>;
  sibling(claims: HopClaims): Promise<string>;
  transactionToken(claims: TransactionClaims): Promise<string>;
  /** Signs with a key of this denial epoch, so that no removed key signs. */
  rootGrant(session: SessionFacts, denialEpoch: string): Promise<string>;
}
