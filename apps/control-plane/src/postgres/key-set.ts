import {
  importIssuerKey,
  type SigningKey,
  toJwks,
  unsealPrivateJwk,
  type VerificationKey,
  verificationKeyOf,
} from "@svc/tokens";
import type { Clock } from "../ports/clock.ts";
import type { KeyFacts, KeySet } from "../ports/issuer-keys.ts";
import { bounded, type Sql } from "./database.ts";

export interface KeySetSettings {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** Seals private keys at rest: 32 bytes. */
  readonly encryptionKey: Uint8Array;
  /** A key from the settings: then none is made or stored. */
  readonly fixedKey: SigningKey | undefined;
}

/** Longer than any token of ours lives (specification: Limits, `ttl_seconds`), with a minute to spare. */
const longestTokenMs = (86_400 + 60) * 1000;

interface OpenedKey {
  readonly facts: KeyFacts;
  readonly signing: SigningKey;
  readonly verification: VerificationKey;
}

/**
 * Reads the key set, one snapshot of keys and epochs. A key is opened once and then the same object, by which tokens
 * that it verified are remembered.
 */
export function keySetReader(settings: KeySetSettings): () => Promise<KeySet> {
  const { sql, clock, deadlineMs, fixedKey } = settings;
  const open = keyOpener(settings.encryptionKey);
  const fixed = fixedKey && openFixed(fixedKey);
  return async () => {
    const { state, stored } = await bounded(deadlineMs, readAll(sql, new Date(clock.nowMs() - longestTokenMs)));
    return toKeySet(fixed === undefined ? await open(stored) : [await fixed], state, clock);
  };
}

interface KeyState {
  epoch: string;
  not_before: Date | null;
}

interface StoredKey {
  kid: string;
  sealed_private_jwk: string;
  created_at: Date;
  activates_at: Date;
  superseded_at: Date | null;
}

/** A key is superseded when the next one activates, and stays until every token it signed has expired. */
const readAll = (sql: Sql, retiredBefore: Date) =>
  sql.begin("isolation level repeatable read read only", async (tx) => {
    const [state] = await tx<KeyState[]>`select d.epoch, i.not_before from denial_epoch d cross join issuer_epoch i`;
    if (state === undefined) throw new Error("the denial epoch's row is missing: the schema is damaged");
    const stored = await tx<StoredKey[]>`
      select kid, sealed_private_jwk, created_at, activates_at, superseded_at from (
        select kid, sealed_private_jwk, created_at, activates_at,
          lead(activates_at) over (order by activates_at, created_at) as superseded_at
        from signing_key where removed_at is null
      ) key
      where superseded_at is null or superseded_at > ${retiredBefore}
      order by activates_at, created_at`;
    return { state, stored: [...stored] };
  });

function keyOpener(encryptionKey: Uint8Array): (stored: readonly StoredKey[]) => Promise<readonly OpenedKey[]> {
  let known: ReadonlyMap<string, Omit<OpenedKey, "facts">> = new Map();
  // The public half is the sealed one's, never that of its column: only who holds the encryption key vouches for a key.
  const openOne = async ({ kid, sealed_private_jwk }: StoredKey) => {
    const signing = await importIssuerKey(await unsealPrivateJwk(sealed_private_jwk, kid, encryptionKey));
    return { signing, verification: await verificationKeyOf(signing) };
  };
  return async (stored) => {
    const opened = await Promise.all(
      stored.map(async (row) => ({ ...(known.get(row.kid) ?? (await openOne(row))), facts: toFacts(row) })),
    );
    known = new Map(opened.map((key) => [key.facts.kid, key]));
    return opened;
  };
}

const toFacts = (row: StoredKey): KeyFacts => ({
  kid: row.kid,
  createdAtMs: row.created_at.getTime(),
  activatesAtMs: row.activates_at.getTime(),
  supersededAtMs: row.superseded_at?.getTime() ?? null,
});

const openFixed = async (signing: SigningKey): Promise<OpenedKey> => ({
  facts: { kid: signing.kid, createdAtMs: null, activatesAtMs: null, supersededAtMs: null },
  signing,
  verification: await verificationKeyOf(signing),
});

/** `opened` oldest first. */
const toKeySet = (opened: readonly OpenedKey[], state: KeyState, clock: Clock): KeySet => ({
  epoch: state.epoch,
  lookup: new Map(opened.map(({ verification }) => [verification.kid, verification])),
  get signingKey() {
    const nowMs = clock.nowMs();
    const active = opened.findLast(({ facts }) => (facts.activatesAtMs ?? 0) <= nowMs) ?? opened[0];
    if (active === undefined) throw new Error("no signing key is left: rotate one in");
    return active.signing;
  },
  // Rounded down: what is issued right after the raise must pass, and what was issued in that very second before it has
  // neither its key nor its session any more.
  minIssuedAtSeconds: state.not_before === null ? 0 : Math.floor(state.not_before.getTime() / 1000),
  published: toJwks(opened.map(({ verification }) => verification)),
  keys: opened.map(({ facts }) => facts),
});
