import { generatePrivateJwk, importIssuerKey, sealPrivateJwk } from "@svc/tokens";
import type { Clock } from "../ports/clock.ts";
import type { IssuerKeyStore, KeyChange, MadeKey, MakeKey, ManagedKey } from "../ports/issuer-keys.ts";
import { insertAdministrativeEvent } from "./administrative-events.ts";
import { bounded, type Sql, type Transaction } from "./database.ts";
import { replaceDenialEpoch } from "./denial-epoch.ts";

/** A fresh key pair, sealed for storage. */
export const keyMaker =
  (encryptionKey: Uint8Array): MakeKey =>
  async () => {
    const jwk = await generatePrivateJwk();
    const { kid, publicJwk } = await importIssuerKey(jwk);
    return { kid, publicJwk, sealedPrivateJwk: await sealPrivateJwk(jwk, encryptionKey) };
  };

export const issuerKeyStore = (sql: Sql, deadlineMs: number): IssuerKeyStore => ({
  async change<T>(work: (change: KeyChange) => Promise<T>) {
    // The driver's type unwraps arrays of promises, which no result here is.
    const done = sql.begin(async (tx) => ({ result: await work(await openChange(tx)) }));
    return (await bounded<{ result: T }>(deadlineMs, done as Promise<{ result: T }>)).result;
  },
});

async function openChange(tx: Transaction): Promise<KeyChange> {
  return {
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
    async record(event) {
      await replaceDenialEpoch(tx);
      await insertAdministrativeEvent(tx, event);
    },
  };
}

interface KeyRow {
  kid: string;
  activates_at: Date;
}

async function lockKeys(tx: Transaction): Promise<readonly ManagedKey[]> {
  await tx`select pg_advisory_xact_lock(hashtext('signing_key'))`;
  const rows = await tx<KeyRow[]>`
    select kid, activates_at from signing_key where removed_at is null order by activates_at, created_at`;
  return rows.map(({ kid, activates_at }) => ({ kid, activatesAtMs: activates_at.getTime() }));
}

async function insertKey(tx: Transaction, key: MadeKey, createdAtMs: number, activatesAtMs: number): Promise<void> {
  await tx`
    insert into signing_key (kid, public_jwk, sealed_private_jwk, created_at, activates_at)
    values (${key.kid}, ${tx.json({ ...key.publicJwk })}, ${key.sealedPrivateJwk}, ${new Date(createdAtMs)},
      ${new Date(activatesAtMs)})`;
}

interface FirstKey {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly deadlineMs: number;
  readonly makeKey: MakeKey;
}

/** Makes the first key, once, however many processes start together. */
export async function ensureKey({ sql, clock, deadlineMs, makeKey }: FirstKey): Promise<void> {
  const made = await makeKey();
  const first = sql.begin(async (tx) => {
    const keys = await lockKeys(tx);
    if (keys.length === 0) await insertKey(tx, made, clock.nowMs(), clock.nowMs());
  });
  await bounded(deadlineMs, first);
}
