import type { issuerKey, Row } from "@svc/core";
import type { IssuerKey, JwksDocument, KeyLookup, MacKey } from "@svc/tokens";
import type { NewEvent } from "./administrative-event.ts";

/** The issuer's keys as this process knows them. */
export interface KeySet {
  /** The denial epoch of the read. Every change of the keys replaces it. */
  readonly epoch: string;
  readonly lookup: KeyLookup;
  /** What checks siblings: of the same keys, apart from those that are published (RFC 8725 section 3.12). */
  readonly siblings: ReadonlyMap<string, MacKey>;
  /** The one that signs now. */
  signingKey(): IssuerKey;
  /** The issuer epoch: tokens issued in an earlier second are refused. */
  readonly minIssuedAtSeconds: number;
  readonly published: JwksDocument;
  /** The published keys, oldest first. */
  readonly keys: readonly KeyFacts[];
}

/** The times of a key from the settings are unknown. */
export type KeyFacts = Omit<Row<typeof issuerKey, "createdAt" | "activatesAt" | "supersededAt">, "status">;

/** The key that signs at a moment: the newest active one. `keys` are in the order of activation. */
export function signingAt<Key extends { readonly activatesAtMs: number | null }>(
  keys: readonly Key[],
  nowMs: number,
): Key {
  const signing = keys.findLast(({ activatesAtMs }) => (activatesAtMs ?? 0) <= nowMs) ?? keys[0];
  if (signing === undefined) throw new Error("no signing key is left: rotate one in");
  return signing;
}

export interface IssuerKeys {
  current(): KeySet;
  /** The keys of this denial epoch; reads them again if need be, single-flight. */
  asOf(epoch: string): Promise<KeySet>;
  /** Reads the keys after the call, since another process may have changed them; at most ten times a second. */
  recheck(): Promise<KeySet>;
  /** For publication: at most a second old, or the last that could be read. */
  latest(): Promise<KeySet>;
}

export interface IssuerKeyStore {
  /** Runs `work` in one transaction, under the lock on the keys; durable when it resolves. */
  change<T>(work: (change: KeyChange) => Promise<T>): Promise<T>;
}

export interface KeyChange {
  /** The keys that were not removed, in the order of activation. */
  readonly keys: readonly ManagedKey[];
  wasRemoved(kid: string): Promise<boolean>;
  add(key: MadeKey, createdAtMs: number, activatesAtMs: number): Promise<void>;
  activate(kid: string, atMs: number): Promise<void>;
  /** Destroys the private half. Nothing that the key signed verifies any more. */
  remove(kid: string, atMs: number): Promise<void>;
  /** Refuses every token issued before; never falls. */
  raiseEpoch(notBeforeMs: number): Promise<void>;
  /** Raises the high water mark above the one that was seen. */
  acknowledgeRestore(seen: bigint): Promise<void>;
  /** Writes the event and a new denial epoch, so that every process notices the change with its next call. */
  record(event: NewEvent): Promise<void>;
}

export interface ManagedKey {
  readonly kid: string;
  readonly activatesAtMs: number;
}

export interface MadeKey {
  readonly kid: string;
  readonly publicJwk: object;
  /** Encrypted with the key-encryption key. */
  readonly sealedPrivateJwk: string;
}

export type MakeKey = () => Promise<MadeKey>;
