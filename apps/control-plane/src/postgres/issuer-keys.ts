import { setTimeout as delay } from "node:timers/promises";
import {
  importIssuerKey,
  type SigningKey,
  toJwks,
  unsealPrivateJwk,
  type VerificationKey,
  verificationKeyOf,
} from "@svc/tokens";
import type { Clock } from "../ports/clock.ts";
import { type IssuerKeys, type KeyFacts, type KeySet, signingAt } from "../ports/issuer-keys.ts";
import { singleFlight } from "../ports/single-flight.ts";
import type { Pool, Transaction } from "./database.ts";
import { ensureKey, keyMaker } from "./key-store.ts";

interface IssuerKeySettings {
  readonly pool: Pool;
  readonly clock: Clock;
  /** 32 bytes that encrypt private keys at rest. */
  readonly encryptionKey: Uint8Array;
  /** A key from the settings: then none is made or stored. */
  readonly fixedKey: SigningKey | undefined;
}

const refreshEveryMs = 30_000;
const recheckEveryMs = 100;
const publishedForMs = 1_000;

/**
 * The issuer's keys, which all processes share through the database. Every change replaces the denial epoch, so reading
 * the keys of an epoch makes a removed key fail, and a new one sign, with the next call of any process.
 */
export async function issuerKeys(settings: IssuerKeySettings): Promise<IssuerKeys & { close(): void }> {
  const { pool, clock, encryptionKey, fixedKey } = settings;
  if (fixedKey === undefined) await ensureKey(pool, clock, keyMaker(encryptionKey));
  const load = keySetReader(settings);
  let current = await load();
  let loadedAtMs = performance.now();
  let isLoading = false;
  let rechecking: Promise<KeySet> | undefined;

  const refresh = singleFlight(async (): Promise<KeySet> => {
    isLoading = true;
    loadedAtMs = performance.now();
    try {
      current = await load();
      return current;
    } finally {
      isLoading = false;
    }
  });

  /** One for all callers before its read starts. Later callers share the next one. */
  const recheckOnce = async (): Promise<KeySet> => {
    await delay(Math.max(0, loadedAtMs + recheckEveryMs - performance.now()));
    while (isLoading) await refresh().catch(() => {});
    rechecking = undefined;
    return refresh();
  };
  const recheck = (): Promise<KeySet> => {
    rechecking ??= recheckOnce();
    return rechecking;
  };

  // After a failed refresh the known keys serve on: every decision compares epochs with the database.
  const timer = setInterval(() => void refresh().catch(() => {}), refreshEveryMs).unref();
  return {
    current: () => current,
    asOf: async (epoch) => {
      // A load that is under way may have begun before the change. The second load has not.
      for (let attempt = 0; current.epoch !== epoch && attempt < 2; attempt++) await refresh();
      return current;
    },
    recheck,
    latest: async () =>
      performance.now() - loadedAtMs < publishedForMs ? current : await recheck().catch(() => current),
    close: () => clearInterval(timer),
  };
}

/** Longer than any token lives (docs/reference/conventions.md#limits), with a minute to spare. */
const longestTokenMs = (86_400 + 60) * 1000;

interface OpenedKey extends KeyFacts {
  readonly signing: SigningKey;
  readonly verification: VerificationKey;
}

/** Each key is opened once and stays the same object, since verified tokens are remembered by that object. */
function keySetReader({ pool, clock, fixedKey, encryptionKey }: IssuerKeySettings): () => Promise<KeySet> {
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
