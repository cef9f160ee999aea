import type { JwksDocument, KeyLookup, SigningKey } from "@svc/tokens";

/** The issuer's keys as this process knows them. */
export interface KeySet {
  /** The denial epoch they were read under: a key that was removed since changed it. */
  readonly epoch: string;
  readonly lookup: KeyLookup;
  readonly signingKey: SigningKey;
  /** Tokens issued in an earlier second are refused: the issuer epoch. */
  readonly minIssuedAtSeconds: number;
  readonly published: JwksDocument;
}

export interface IssuerKeys {
  current(): KeySet;
  /** Reads the keys again, single-flight, unless they are of this denial epoch already. */
  asOf(epoch: string): Promise<KeySet>;
  /**
   * For a token whose key is unknown here: another process may have made it just now. Reads again, at most once a
   * second whatever is presented.
   */
  recheck(): Promise<KeySet>;
}
