import { setInterval } from "node:timers";
import {
  generatePrivateJwk,
  importIssuerKey,
  type PublicJwk,
  type SigningKey,
  sealPrivateJwk,
  toJwks,
  unsealPrivateJwk,
  type VerificationKey,
  verificationKeyOf,
} from "@svc/tokens";
import type { Clock } from "../ports/clock.ts";
import type { IssuerKeys, KeySet } from "../ports/issuer-keys.ts";
import { bounded, type Sql } from "./database.ts";

export interface IssuerKeySettings {
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
const refreshEveryMs = 30_000;
const recheckEveryMs = 1_000;

/**
 * The issuer's keys, shared by every process through the database and refreshed in the background, so that a key which
 * another process made is published in time. Reading them as of a denial epoch is how a removed key stops at once.
 */
export async function issuerKeys(settings: IssuerKeySettings): Promise<IssuerKeys & { close(): void }> {
  if (settings.fixedKey === undefined) await ensureKey(settings);
  let current = await load(settings);
  let loading: Promise<KeySet> | undefined;
  let loadedAtMs = performance.now();
  const refresh = (): Promise<KeySet> => {
    loadedAtMs = performance.now();
    loading ??= load(settings)
      .then((keys) => {
        current = keys;
        return keys;
      })
      .finally(() => {
        loading = undefined;
      });
    return loading;
  };
  // A failed refresh keeps what is known: every decision compares epochs with the database anyway.
  const timer = setInterval(() => void refresh().catch(() => {}), refreshEveryMs).unref();
  return {
    current: () => current,
    asOf: async (epoch) => {
      // A load that began before the change may still be on its way; the second one cannot be.
      for (let attempt = 0; current.epoch !== epoch && attempt < 2; attempt++) await refresh();
      return current;
    },
    recheck: async () => (performance.now() - loadedAtMs < recheckEveryMs ? current : refresh()),
    close: () => clearInterval(timer),
  };
}

interface StoredKey {
  kid: string;
  public_jwk: PublicJwk;
  sealed_private_jwk: string;
  activates_at: Date;
}

interface KeyState {
  epoch: string;
  not_before: Date | null;
}

async function load(settings: IssuerKeySettings): Promise<KeySet> {
  const { sql, clock, deadlineMs, fixedKey } = settings;
  const retiredBefore = new Date(clock.nowMs() - longestTokenMs);
  const [[state], stored] = await bounded(
    deadlineMs,
    sql.begin("isolation level repeatable read read only", async (tx) => [
      await tx<KeyState[]>`select d.epoch, i.not_before from denial_epoch d cross join issuer_epoch i`,
      await tx<StoredKey[]>`
        select kid, public_jwk, sealed_private_jwk, activates_at from signing_key
        where removed_at is null and (superseded_at is null or superseded_at > ${retiredBefore})
        order by activates_at desc`,
    ]),
  );
  if (state === undefined) throw new Error("the denial epoch's row is missing: the schema is damaged");
  const keys = fixedKey === undefined ? await openAll(settings, stored) : [{ key: fixedKey, activatesAtMs: 0 }];
  return toKeySet(keys, state, clock);
}

interface OpenedKey {
  readonly key: SigningKey;
  readonly activatesAtMs: number;
}

const openAll = ({ encryptionKey }: IssuerKeySettings, stored: readonly StoredKey[]): Promise<OpenedKey[]> =>
  Promise.all(
    stored.map(async ({ kid, sealed_private_jwk, activates_at }) => ({
      key: await importIssuerKey(await unsealPrivateJwk(sealed_private_jwk, kid, encryptionKey)),
      activatesAtMs: activates_at.getTime(),
    })),
  );

/** `keys` newest first. */
async function toKeySet(keys: readonly OpenedKey[], state: KeyState, clock: Clock): Promise<KeySet> {
  const verification = await Promise.all(keys.map(({ key }) => verificationKeyOf(key)));
  return {
    epoch: state.epoch,
    lookup: new Map(verification.map((key): [string, VerificationKey] => [key.kid, key])),
    get signingKey() {
      const active = keys.find(({ activatesAtMs }) => activatesAtMs <= clock.nowMs()) ?? keys.at(-1);
      if (active === undefined) throw new Error("no signing key is left: rotate one in");
      return active.key;
    },
    minIssuedAtSeconds: state.not_before === null ? 0 : Math.ceil(state.not_before.getTime() / 1000),
    published: toJwks(verification),
  };
}

/** Makes the first key, once, however many processes start together. */
async function ensureKey({ sql, clock, encryptionKey, deadlineMs }: IssuerKeySettings): Promise<void> {
  const jwk = await generatePrivateJwk();
  const key = await importIssuerKey(jwk);
  const sealed = await sealPrivateJwk(jwk, encryptionKey);
  const now = new Date(clock.nowMs());
  await bounded(
    deadlineMs,
    sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(hashtext('signing_key'))`;
      const [existing] = await tx`select from signing_key where removed_at is null limit 1`;
      if (existing !== undefined) return;
      await tx`
        insert into signing_key (kid, public_jwk, sealed_private_jwk, created_at, activates_at)
        values (${key.kid}, ${tx.json({ ...key.publicJwk })}, ${sealed}, ${now}, ${now})`;
    }),
  );
}
