import { setTimeout as delay } from "node:timers/promises";
import {
  generatePrivateJwk,
  type IssuerKey,
  importIssuerKey,
  sealPrivateJwk,
  toJwks,
  unsealPrivateJwk,
  type VerificationKey,
  verificationKeyOf,
} from "@svc/tokens";
import type { Clock } from "../ports/clock.ts";
import {
  type IssuerKeyStore,
  type IssuerKeys,
  type KeyChange,
  type KeyFacts,
  type KeySet,
  type MadeKey,
  type MakeKey,
  type ManagedKey,
  signingAt,
} from "../ports/issuer-keys.ts";
import { singleFlight } from "../ports/single-flight.ts";
import { recordChangedDenials } from "./administrative-events.ts";
import { DatabaseUnavailable, type Pool, type Transaction } from "./database.ts";
import type { DenialChanges } from "./denial-changes.ts";

interface IssuerKeySettings {
  readonly pool: Pool;
  readonly clock: Clock;
  /** 32 bytes that encrypt private keys at rest. */
  readonly encryptionKey: Uint8Array;
  /** A key from the settings: then none is made or stored. */
  readonly fixedKey: IssuerKey | undefined;
}

const refreshEveryMs = 30_000;
const recheckEveryMs = 100;
const publishedForMs = 1_000;

/** Every change replaces the denial epoch: a removed key fails, and a new one signs, with the next call anywhere. */
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
  readonly signing: IssuerKey;
  readonly verification: VerificationKey;
}

interface StoredKey extends KeyFacts {
  readonly sealedPrivateJwk: string;
}

/** Each key is opened once and stays the same object, since verified tokens are remembered by that object. */
function keySetReader({ pool, clock, fixedKey, encryptionKey }: IssuerKeySettings): () => Promise<KeySet> {
  let known: ReadonlyMap<string, OpenedKey> = new Map();
  // The public half comes from the sealed key, never from its column, so that only the encryption key vouches for it.
  const open = async ({ sealedPrivateJwk, ...facts }: StoredKey): Promise<OpenedKey> => {
    const before = known.get(facts.kid);
    if (before !== undefined) return { ...before, ...facts };
    return opened(facts, await importIssuerKey(await unsealPrivateJwk(sealedPrivateJwk, facts.kid, encryptionKey)));
  };
  const unknownTimes = { createdAtMs: null, activatesAtMs: null, supersededAtMs: null };
  const fixed = fixedKey && opened({ kid: fixedKey.kid, ...unknownTimes }, fixedKey);
  return async () => {
    const { state, stored } = await pool.run((sql) =>
      sql.begin("isolation level repeatable read read only", (tx) =>
        readAll(tx, new Date(clock.nowMs() - longestTokenMs)),
      ),
    );
    const keys = fixed === undefined ? await Promise.all(stored.map(open)) : [await fixed];
    known = new Map(keys.map((key) => [key.kid, key]));
    return toKeySet(keys, state, clock);
  };
}

const opened = async (facts: KeyFacts, signing: IssuerKey): Promise<OpenedKey> => ({
  ...facts,
  signing,
  verification: await verificationKeyOf(signing),
});

interface KeyState {
  readonly epoch: string;
  readonly not_before: number | null;
}

/** A key is superseded when the next one activates, and is kept until every token it signed has expired. */
async function readAll(tx: Transaction, retiredBefore: Date) {
  const [state] = await tx<KeyState[]>`select d.epoch, i.not_before from denial_epoch d cross join issuer_epoch i`;
  if (state === undefined) throw new DatabaseUnavailable("the denial epoch's row is missing: the schema is damaged");
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

const toKeySet = (keys: readonly OpenedKey[], state: KeyState, clock: Clock): KeySet => ({
  epoch: state.epoch,
  lookup: new Map(keys.map(({ verification }) => [verification.kid, verification])),
  siblings: new Map(keys.map(({ signing }) => [signing.kid, signing.siblings])),
  signingKey: () => signingAt(keys, clock.nowMs()).signing,
  // Rounded down: a token of the second of the raise must pass. An older token of that second has lost its key and session.
  minIssuedAtSeconds: state.not_before === null ? 0 : Math.floor(state.not_before / 1000),
  published: toJwks(keys.map(({ verification }) => verification)),
  keys: keys.map(({ signing, verification, ...facts }) => facts),
});

/** Makes key pairs, encrypted for storage. */
export const keyMaker =
  (encryptionKey: Uint8Array): MakeKey =>
  async () => {
    const jwk = await generatePrivateJwk();
    const { kid, publicJwk } = await importIssuerKey(jwk);
    return { kid, publicJwk, sealedPrivateJwk: await sealPrivateJwk(jwk, encryptionKey) };
  };

export const issuerKeyStore = ({ change }: Pick<DenialChanges, "change">): IssuerKeyStore => ({
  change: (work) => change(async (tx) => work(await openChange(tx))),
});

const openChange = async (tx: Transaction): Promise<KeyChange> => ({
  keys: await lockKeys(tx),
  wasRemoved: async (kid) =>
    (await tx`select from signing_key where kid = ${kid} and removed_at is not null`).count > 0,
  add: (key, createdAtMs, activatesAtMs) => insertKey(tx, key, createdAtMs, activatesAtMs),
  async activate(kid, atMs) {
    await tx`update signing_key set activates_at = ${new Date(atMs)} where kid = ${kid}`;
  },
  async remove(kid, atMs) {
    await tx`update signing_key set removed_at = ${new Date(atMs)}, sealed_private_jwk = null where kid = ${kid}`;
  },
  async raiseEpoch(notBeforeMs) {
    await tx`update issuer_epoch set not_before = greatest(not_before, ${new Date(notBeforeMs)}::timestamptz)`;
  },
  async acknowledgeRestore(seen) {
    await tx`update witness set count = greatest(count, ${seen}) + 1, raised_at = now()`;
  },
  record: (event) => recordChangedDenials(tx, event),
});

async function lockKeys(tx: Transaction): Promise<readonly ManagedKey[]> {
  await tx`select pg_advisory_xact_lock(hashtext('signing_key'))`;
  return tx<ManagedKey[]>`
    select kid, activates_at as "activatesAtMs" from signing_key
    where removed_at is null order by activates_at, created_at`;
}

async function insertKey(tx: Transaction, key: MadeKey, createdAtMs: number, activatesAtMs: number): Promise<void> {
  await tx`
    insert into signing_key (kid, public_jwk, sealed_private_jwk, created_at, activates_at)
    values (${key.kid}, ${tx.json({ ...key.publicJwk })}, ${key.sealedPrivateJwk}, ${new Date(createdAtMs)},
      ${new Date(activatesAtMs)})`;
}

/** Makes the first key. Processes that start together make one. */
async function ensureKey(pool: Pool, clock: Clock, makeKey: MakeKey): Promise<void> {
  const made = await makeKey();
  await pool.transaction(async (tx) => {
    const keys = await lockKeys(tx);
    if (keys.length === 0) await insertKey(tx, made, clock.nowMs(), clock.nowMs());
  });
}
