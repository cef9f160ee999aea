import { type KeyLookup, type PublicJwk, readPublicKey, type VerificationKey } from "@svc/tokens";
import { type ReadSeal, readSeal, type Seal, sealHash } from "./seal.ts";
import { sources } from "./sources.ts";

/**
 * What can be wrong with a seal. `unreadable`: it is not a seal, or has another number. `signature`: not made by the key
 * that it names. `unknown_key`: it names a key that is neither given nor introduced by the chain. `not_chained`: it does
 * not follow the seal before, by its number, its hash or its ranges.
 */
export const sealFaults = ["unreadable", "unknown_key", "signature", "not_chained"] as const;
export type SealFault = (typeof sealFaults)[number];

/** A seal as it is stored. */
export interface StoredSeal {
  readonly batch: number;
  readonly statement: string;
}

export interface CheckedSeal {
  readonly batch: number;
  readonly hash: string;
  /** Undefined where it is unreadable. */
  readonly seal: Seal | undefined;
  readonly faults: readonly SealFault[];
  /** One of the given keys signed it: it then authenticates every seal before it. */
  readonly isPinned: boolean;
}

export interface ChainWalk {
  /** Checks the next seal, in the order of their numbers. */
  next(stored: StoredSeal): Promise<CheckedSeal>;
  /** Every key that the walk has met, the given ones among them. */
  keys(): readonly VerificationKey[];
}

/**
 * Walks the chain from its first seal. Each statement holds the hash of the one before, so the newest one that a given
 * key signed authenticates all before it and the keys that they introduced, also superseded ones.
 */
export function chainWalk(given: ReadonlyMap<string, VerificationKey>): ChainWalk {
  const introduced = new Map<string, VerificationKey>();
  const keys: KeyLookup = { get: (kid) => given.get(kid) ?? introduced.get(kid) };
  let before: { readonly batch: number; readonly hash: string; readonly seal: Seal | undefined } | undefined;

  return {
    async next({ batch, statement }) {
      const read = readSeal(statement);
      const hash = sealHash(statement);
      if (read === undefined || read.seal.batch !== batch) {
        before = { batch, hash, seal: undefined };
        return { batch, hash, seal: undefined, faults: ["unreadable"], isPinned: false };
      }
      if (read.seal.publicJwk !== null) await introduce(introduced, read.seal.publicJwk);
      const fault = await signatureFault(read, statement, keys);
      const faults = [...(fault ? [fault] : []), ...(follows(read.seal, before) ? [] : ["not_chained" as const])];
      before = { batch, hash, seal: read.seal };
      const isPinned = fault === undefined && given.has(read.header.kid ?? "");
      return { batch, hash, seal: read.seal, faults, isPinned };
    },
    keys: () => [...new Map([...introduced, ...given]).values()],
  };
}

async function introduce(keys: Map<string, VerificationKey>, publicJwk: PublicJwk): Promise<void> {
  const reading = await readPublicKey(publicJwk);
  if (reading.ok) keys.set(reading.key.kid, reading.key);
}

/** Whether a key of `keys` made the statement's signature; undefined where one did. */
export async function signatureFault(
  { header }: ReadSeal,
  statement: string,
  keys: KeyLookup,
): Promise<"unknown_key" | "signature" | undefined> {
  const key = header.kid === undefined ? undefined : keys.get(header.kid);
  if (key === undefined) return "unknown_key";
  // The algorithm is the key's (RFC 8725 section 3.1): the header may only agree.
  return key.algs.includes(header.alg) && (await key.check(statement)) ? undefined : "signature";
}

/** By number, by hash, and each range begins where the one before ended. */
function follows(seal: Seal, before: { batch: number; hash: string; seal: Seal | undefined } | undefined): boolean {
  if (before === undefined) {
    return seal.batch === 1 && seal.previous === null && sources.every((source) => seal.ranges[source].after === null);
  }
  const { seal: last } = before;
  return (
    seal.batch === before.batch + 1 &&
    seal.previous === before.hash &&
    (last === undefined || sources.every((source) => seal.ranges[source].after === last.ranges[source].through))
  );
}
