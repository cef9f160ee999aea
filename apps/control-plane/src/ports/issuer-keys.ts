import type { JwksDocument, KeyLookup, SigningKey } from "@svc/tokens";
import type { AdministrativeEvent } from "./administrative-event.ts";

/** The issuer's keys as this process knows them. */
export interface KeySet {
  /** The denial epoch they were read under: every change of the keys replaced it. */
  readonly epoch: string;
  readonly lookup: KeyLookup;
  readonly signingKey: SigningKey;
  /** Tokens issued in an earlier second are refused: the issuer epoch. */
  readonly minIssuedAtSeconds: number;
  readonly published: JwksDocument;
  /** Those that are published, oldest first. */
  readonly keys: readonly KeyFacts[];
}

/** One of the issuer's keys; a key of the settings was made and activated at a time that nobody here knows. */
export interface KeyFacts {
  /** RFC 7638 thumbprint. */
  readonly kid: string;
  readonly createdAtMs: number | null;
  readonly activatesAtMs: number | null;
  /** When the next key takes over; null where there is none. */
  readonly supersededAtMs: number | null;
}

export interface IssuerKeys {
  current(): KeySet;
  /** Reads the keys again, single-flight, unless they are of this denial epoch already. */
  asOf(epoch: string): Promise<KeySet>;
  /**
   * The keys as they stand now: read after the call began, since another process may have changed them just before.
   * Whatever is presented, they are read at most ten times a second: a caller waits for its turn.
   */
  recheck(): Promise<KeySet>;
  /** For publication: at most a second old, or the last that could be read. */
  latest(): Promise<KeySet>;
}

export interface IssuerKeyStore {
  /**
   * Runs `work` in one transaction, all or nothing, while no other change of the keys runs anywhere. Durable when it
   * resolves.
   */
  change<T>(work: (change: KeyChange) => Promise<T>): Promise<T>;
}

/** What a change of the keys reads and writes, under the lock. */
export interface KeyChange {
  /** Every key that was not removed, oldest first. */
  readonly keys: readonly ManagedKey[];
  wasRemoved(kid: string): Promise<boolean>;
  add(key: MadeKey, createdAtMs: number, activatesAtMs: number): Promise<void>;
  /** A key that was to sign later does from `atMs` on. */
  activate(kid: string, atMs: number): Promise<void>;
  /** Its private half is destroyed, and nothing it signed verifies any more. */
  remove(kid: string, atMs: number): Promise<void>;
  /** Refuses every token issued before; never falls. */
  raiseEpoch(notBeforeMs: number): Promise<void>;
  /** Takes the database for what it is from now on, however much further it was seen before. */
  acknowledgeRestore(seen: bigint): Promise<void>;
  /** Writes the event, and a fresh denial epoch with it, so that every process notices the change with its next call. */
  record(event: AdministrativeEvent): Promise<void>;
}

export interface ManagedKey {
  readonly kid: string;
  readonly activatesAtMs: number;
}

export interface MadeKey {
  readonly kid: string;
  readonly publicJwk: object;
  /** Useless without the key that seals it. */
  readonly sealedPrivateJwk: string;
}

export type MakeKey = () => Promise<MadeKey>;
