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
  /** Sound rows between the seal that it continues and itself: none of them is in the chain. */
  readonly strays: readonly number[];
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
  /** Newest last. */
  let before: readonly Link[] = [];

  return {
    async next({ batch, statement }) {
      const read = readSeal(statement);
      const hash = sealHash(statement);
      if (read === undefined || read.seal.batch !== batch) {
        before = [...before, { batch, hash, seal: undefined, isSound: false }].slice(-maxStrays);
        return { batch, hash, seal: undefined, faults: ["unreadable"], isPinned: false, strays: [] };
      }
      if (read.seal.publicJwk !== null) await introduce(introduced, read.seal.publicJwk);
      const fault = await signatureFault(read, statement, keys);
      const at = before.findLastIndex((link) => follows(read.seal, link));
      const isChained = before.length === 0 ? isFirst(read.seal) : at >= 0;
      const faults = [...(fault ? [fault] : []), ...(isChained ? [] : ["not_chained" as const])];
      const passed = at < 0 ? [] : before.slice(at + 1);
      const strays = passed.filter(({ isSound }) => isSound).map((link) => link.batch);
      before = [...before, { batch, hash, seal: read.seal, isSound: faults.length === 0 }].slice(-maxStrays);
      const isPinned = fault === undefined && given.has(read.header.kid ?? "");
      return { batch, hash, seal: read.seal, faults, isPinned, strays };
    },
    keys: () => [...new Map([...introduced, ...given]).values()],
  };
}

interface Link {
  readonly batch: number;
  readonly hash: string;
  readonly seal: Seal | undefined;
  /** Without a fault of its own. */
  readonly isSound: boolean;
}

/** So many foreign rows in a row are passed over. */
const maxStrays = 100;

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

const isFirst = (seal: Seal): boolean =>
  seal.batch === 1 && seal.previous === null && sources.every((source) => seal.ranges[source].after === null);

/** By hash, and each range begins where the one before ended. */
const follows = (seal: Seal, { hash, seal: last }: Link): boolean =>
  seal.previous === hash &&
  (last === undefined || sources.every((source) => seal.ranges[source].after === last.ranges[source].through));
