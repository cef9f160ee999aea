import { generatePrivateJwk, importIssuerKey, sealPrivateJwk } from "@svc/tokens";
import type { Clock } from "../ports/clock.ts";
import type { IssuerKeyStore, KeyChange, MadeKey, MakeKey, ManagedKey } from "../ports/issuer-keys.ts";
import { recordChangedDenials } from "./administrative-events.ts";
import type { Pool, Transaction } from "./database.ts";

/** Makes key pairs, encrypted for storage. */
export const keyMaker =
  (encryptionKey: Uint8Array): MakeKey =>
  async () => {
    const jwk = await generatePrivateJwk();
    const { kid, publicJwk } = await importIssuerKey(jwk);
    return { kid, publicJwk, sealedPrivateJwk: await sealPrivateJwk(jwk, encryptionKey) };
  };

export const issuerKeyStore = (writer: Pool): IssuerKeyStore => ({
  change: (work) => writer.transaction(async (tx) => work(await openChange(tx))),
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
export async function ensureKey(pool: Pool, clock: Clock, makeKey: MakeKey): Promise<void> {
  const made = await makeKey();
  await pool.transaction(async (tx) => {
    const keys = await lockKeys(tx);
    if (keys.length === 0) await insertKey(tx, made, clock.nowMs(), clock.nowMs());
  });
}
