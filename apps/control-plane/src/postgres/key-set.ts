import {
  importIssuerKey,
  type SigningKey,
  toJwks,
  unsealPrivateJwk,
  type VerificationKey,
  verificationKeyOf,
} from "@svc/tokens";
import type { Clock } from "../ports/clock.ts";
import { type KeyFacts, type KeySet, signingAt } from "../ports/issuer-keys.ts";
import type { Pool, Transaction } from "./database.ts";

export interface KeySetSettings {
  readonly pool: Pool;
  readonly clock: Clock;
  /** 32 bytes that encrypt private keys at rest. */
  readonly encryptionKey: Uint8Array;
  /** A key from the settings: then none is made or stored. */
  readonly fixedKey: SigningKey | undefined;
}

/** Longer than any token lives (docs/reference/conventions.md#limits), with a minute to spare. */
const longestTokenMs = (86_400 + 60) * 1000;

interface OpenedKey extends KeyFacts {
  readonly signing: SigningKey;
  readonly verification: VerificationKey;
}

/** Each key is opened once and stays the same object, since verified tokens are remembered by that object. */
export function keySetReader({ pool, clock, fixedKey, encryptionKey }: KeySetSettings): () => Promise<KeySet> {
  const open = keyOpener(encryptionKey);
  const fixed = fixedKey && openFixed(fixedKey);
  return async () => {
    const { state, stored } = await pool.run((sql) =>
      sql.begin("isolation level repeatable read read only", (tx) =>
        readAll(tx, new Date(clock.nowMs() - longestTokenMs)),
      ),
    );
    return toKeySet(fixed === undefined ? await open(stored) : [await fixed], state, clock);
  };
}

interface KeyState {
  readonly epoch: string;
  readonly not_before: number | null;
}

interface StoredKey extends KeyFacts {
  readonly sealedPrivateJwk: string;
}

/** A key is superseded when the next one activates, and is kept until every token it signed has expired. */
async function readAll(tx: Transaction, retiredBefore: Date) {
  const [state] = await tx<KeyState[]>`select d.epoch, i.not_before from denial_epoch d cross join issuer_epoch i`;
  if (state === undefined) throw new Error("the denial epoch's row is missing: the schema is damaged");
  const stored = await tx<StoredKey[]>`
    select kid, sealed_private_jwk as "sealedPrivateJwk", created_at as "createdAtMs", activates_at as "activatesAtMs",
      superseded_at as "supersededAtMs"
    from (
      select kid, sealed_private_jwk, created_at, activates_at,
        lead(activates_at) over (order by activates_at, created_at) as superseded_at
      from signing_key where removed_at is null
    ) key
    where superseded_at is null or superseded_at > ${retiredBefore}
    order by activates_at, created_at`;
  return { state, stored: [...stored] };
}

function keyOpener(encryptionKey: Uint8Array): (stored: readonly StoredKey[]) => Promise<readonly OpenedKey[]> {
  let known: ReadonlyMap<string, OpenedKey> = new Map();
  // The public half comes from the sealed key, never from its column, so that only the encryption key vouches for it.
  const openOne = async ({ kid, sealedPrivateJwk }: StoredKey) => {
    const signing = await importIssuerKey(await unsealPrivateJwk(sealedPrivateJwk, kid, encryptionKey));
    return { signing, verification: await verificationKeyOf(signing) };
  };
  return async (stored) => {
    const opened = await Promise.all(
      stored.map(async (row) => {
        const { signing, verification } = known.get(row.kid) ?? (await openOne(row));
        const { sealedPrivateJwk, ...facts } = row;
        return { ...facts, signing, verification };
      }),
    );
    known = new Map(opened.map((key) => [key.kid, key]));
    return opened;
  };
}

const openFixed = async (signing: SigningKey): Promise<OpenedKey> => ({
  kid: signing.kid,
  createdAtMs: null,
  activatesAtMs: null,
  supersededAtMs: null,
  signing,
  verification: await verificationKeyOf(signing),
});

const toKeySet = (opened: readonly OpenedKey[], state: KeyState, clock: Clock): KeySet => ({
  epoch: state.epoch,
  lookup: new Map(opened.map(({ verification }) => [verification.kid, verification])),
  get signingKey() {
    return signingAt(opened, clock.nowMs()).signing;
  },
  // Rounded down: a token of the second of the raise must pass. An older token of that second has lost its key and session.
  minIssuedAtSeconds: state.not_before === null ? 0 : Math.floor(state.not_before / 1000),
  published: toJwks(opened.map(({ verification }) => verification)),
  keys: opened.map(({ signing, verification, ...facts }) => facts),
});
