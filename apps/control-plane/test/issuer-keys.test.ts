import { createMigratedDatabase, type TestDatabase, waitUntil } from "@svc/test-support";
import { generatePrivateJwk, type IssuerKey, importIssuerKey, sealPrivateJwk } from "@svc/tokens";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type KeyDeps, removeKey, rotateKey } from "../src/commands/issuer-keys.ts";
import { connect, poolOf, type Sql } from "../src/postgres/database.ts";
import { denialChanges } from "../src/postgres/denial-changes.ts";
import { issuerKeyStore, issuerKeys, keyMaker } from "../src/postgres/issuer-keys.ts";
import { query } from "./support.ts";

const encryptionKey = new Uint8Array(32).fill(7);
const actor = "alice";
const minuteMs = 60_000;
const longestTokenMs = (86_400 + 60) * 1000;

let database: TestDatabase;
let sql: Sql;
let nowMs: number;
const clock = { nowMs: () => nowMs };
const opened: { close(): void }[] = [];

beforeEach(async () => {
  database = await createMigratedDatabase();
  sql = connect({ url: database.appUrl, maxConnections: 4, statementTimeoutMs: 5_000 });
  nowMs = Date.now();
});
afterEach(async () => {
  for (const keys of opened.splice(0)) keys.close();
  await sql.end();
  await database.drop();
});

/** The keys as one process sees them, and how often it read them. */
async function open(changes: { fixedKey?: IssuerKey; encryptionKey?: Uint8Array } = {}) {
  const reads = { count: 0, heldBack: Promise.resolve() };
  const counted = new Proxy(sql, {
    get: (target, name) => {
      if (name !== "begin") return Reflect.get(target, name);
      reads.count += 1;
      return async (...args: Parameters<Sql["begin"]>) => {
        const { heldBack } = reads;
        const read = await target.begin(...args);
        await heldBack;
        return read;
      };
    },
  });
  const keys = await issuerKeys({
    pool: poolOf(counted, 5_000),
    clock,
    encryptionKey,
    fixedKey: undefined,
    ...changes,
  });
  opened.push(keys);
  const deps: KeyDeps = {
    clock,
    ids: { next: () => crypto.randomUUID() },
    issuerKeys: keys,
    issuerKeyStore: issuerKeyStore(denialChanges(poolOf(sql, 5_000))),
    makeKey: keyMaker(encryptionKey),
  };
  return { keys, deps, reads };
}

const kids = async (keys: Awaited<ReturnType<typeof open>>["keys"]) =>
  (await keys.recheck()).published.keys.map(({ kid }) => kid);

describe("a rotation", () => {
  test("publishes the next key at once, and signs with it from its activation on, without another read", async () => {
    const { keys, deps, reads } = await open();
    const first = keys.current().signingKey().kid;
    const rotated = await rotateKey(deps, { now: false, actor });
    expect(rotated).toEqual({ kind: "rotated", kid: expect.any(String), activatesAtMs: nowMs + 10 * minuteMs });
    const next = rotated.kind === "rotated" ? rotated.kid : "";
    expect(keys.current().published.keys.map(({ kid }) => kid)).toEqual([first, next]);
    const readsBefore = reads.count;
    nowMs += 10 * minuteMs - 1;
    expect(keys.current().signingKey().kid).toBe(first);
    nowMs += 1;
    expect(keys.current().signingKey().kid).toBe(next);
    expect(reads.count).toBe(readsBefore);
  });

  test("keeps the last key until every token that it signed has expired", async () => {
    const { keys, deps } = await open();
    const first = keys.current().signingKey().kid;
    await rotateKey(deps, { now: false, actor });
    nowMs += 10 * minuteMs + longestTokenMs - 1;
    expect(await kids(keys)).toContain(first);
    expect((await keys.recheck()).lookup.get(first)).toBeDefined();
    nowMs += 1;
    expect(await kids(keys)).not.toContain(first);
    expect((await keys.recheck()).lookup.get(first)).toBeUndefined();
  });

  test("twice within a millisecond signs with the second key", async () => {
    const { keys, deps } = await open();
    await rotateKey(deps, { now: true, actor });
    const second = await rotateKey(deps, { now: true, actor });
    nowMs += 5;
    expect(keys.current().signingKey().kid).toBe(second.kind === "rotated" ? second.kid : "");
  });

  test("keeps the cache of tokens verified by a key that stays", async () => {
    const { keys, deps } = await open();
    const { kid } = keys.current().signingKey();
    const before = keys.current().lookup.get(kid);
    await rotateKey(deps, { now: true, actor });
    expect(keys.current().lookup.get(kid)).toBe(before);
  });

  test("reaches another process with its next decision", async () => {
    const [here, there] = [await open(), await open()];
    const rotated = await rotateKey(here.deps, { now: true, actor });
    nowMs += 5;
    const [{ epoch } = { epoch: "" }] = await query<{ epoch: string }>(
      database.appUrl,
      "select epoch from denial_epoch",
    );
    await there.keys.asOf(epoch);
    expect(there.keys.current().signingKey().kid).toBe(rotated.kind === "rotated" ? rotated.kid : "");
  });
});

describe("a removal", () => {
  test("of a superseded key does not change the signing key", async () => {
    const { keys, deps } = await open();
    const first = keys.current().signingKey().kid;
    await rotateKey(deps, { now: true, actor });
    nowMs += 5;
    const signing = keys.current().signingKey().kid;
    expect(await removeKey(deps, { kid: first, actor })).toEqual({ kind: "removed" });
    expect(keys.current().signingKey().kid).toBe(signing);
    expect(await kids(keys)).toEqual([signing]);
  });

  test("of the only key by twenty concurrent calls leaves exactly one signing key", async () => {
    const { keys, deps } = await open();
    const { kid } = keys.current().signingKey();
    await Promise.all(Array.from({ length: 20 }, () => removeKey(deps, { kid, actor })));
    expect(await kids(keys)).toEqual([keys.current().signingKey().kid]);
    expect(keys.current().signingKey().kid).not.toBe(kid);
  });
});

describe("a lookup of an unknown key", () => {
  test("reads once for concurrent calls, and at most ten times a second", async () => {
    const { keys, reads } = await open();
    const before = reads.count;
    const startedMs = performance.now();
    await Promise.all(Array.from({ length: 1_000 }, () => keys.recheck()));
    expect(reads.count - before).toBe(1);
    while (performance.now() - startedMs < 1_000) await keys.recheck();
    expect(reads.count - before).toBeLessThanOrEqual(12);
  });

  test("finds a key that was committed before, however soon after another read", async () => {
    const { keys, deps } = await open();
    for (let round = 0; round < 5; round++) {
      const stale = keys.recheck();
      const made = await keyMaker(encryptionKey)();
      await deps.issuerKeyStore.change((change) => change.add(made, nowMs, nowMs + round));
      expect((await keys.recheck()).lookup.get(made.kid)).toBeDefined();
      await stale;
    }
  });

  test("does not use a read that began before it", async () => {
    const { keys, deps, reads } = await open();
    const { promise: heldBack, resolve: letGo } = Promise.withResolvers<void>();
    reads.heldBack = heldBack;
    const early = keys.asOf("another epoch");
    await waitUntil("the early read to be under way", () => reads.count > 1);
    reads.heldBack = Promise.resolve();
    const made = await keyMaker(encryptionKey)();
    await deps.issuerKeyStore.change((change) => change.add(made, nowMs, nowMs));
    const [late, askedMs] = [keys.recheck(), performance.now()];
    await waitUntil("its turn to come while the early read is under way", () => performance.now() - askedMs > 120);
    letGo();
    expect((await late).lookup.get(made.kid)).toBeDefined();
    await early;
  });
});

describe("the published set", () => {
  test("is read again after a second, and is the last known one while it cannot be read", async () => {
    const { keys, deps } = await open();
    const { kid } = keys.current().signingKey();
    const made = await keyMaker(encryptionKey)();
    await deps.issuerKeyStore.change((change) => change.add(made, nowMs, nowMs));
    await waitUntil("the other key to be published", async () => (await keys.latest()).published.keys.length === 2);
    await query(database.ownerUrl, "alter table signing_key rename to gone");
    await waitUntil("a read to fail", () =>
      keys.recheck().then(
        () => false,
        () => true,
      ),
    );
    expect((await keys.latest()).published.keys.map((key) => key.kid)).toEqual([kid, made.kid]);
  });
});

describe("a row of the key table", () => {
  test("is rejected where its key is not sealed with the encryption key", async () => {
    const { keys } = await open();
    const jwk = await generatePrivateJwk();
    const { kid, publicJwk } = await importIssuerKey(jwk);
    const sealed = await sealPrivateJwk(jwk, new Uint8Array(32).fill(8));
    const { epoch } = keys.current();
    await query(
      database.ownerUrl,
      "insert into signing_key (kid, public_jwk, sealed_private_jwk, created_at, activates_at) values ($1, $2::text::jsonb, $3, now(), now())",
      [kid, JSON.stringify(publicJwk), sealed],
    );
    await expect(keys.recheck()).rejects.toThrow("key refused: unsealable");
    expect(keys.current()).toMatchObject({ epoch });
    expect(keys.current().lookup.get(kid)).toBeUndefined();
    expect((await keys.latest()).published.keys.map((key) => key.kid)).not.toContain(kid);
  });

  test("cannot be both removed and hold a private key", async () => {
    await open();
    await expect(query(database.ownerUrl, "update signing_key set removed_at = now()")).rejects.toThrow(
      /a_removed_key_is_destroyed/,
    );
  });

  test("sealed under another encryption key stops the start", async () => {
    await open();
    await expect(open({ encryptionKey: new Uint8Array(32).fill(9) })).rejects.toThrow("key refused: unsealable");
  });
});

test("processes that start together on an empty database make one key", async () => {
  const started = await Promise.all(Array.from({ length: 4 }, () => open()));
  const signing = new Set(started.map(({ keys }) => keys.current().signingKey().kid));
  expect(signing.size).toBe(1);
});

test("a configured key is the only one, whatever the database contains", async () => {
  await open();
  const fixedKey = await importIssuerKey(await generatePrivateJwk());
  const { keys } = await open({ fixedKey });
  expect(keys.current().signingKey().kid).toBe(fixedKey.kid);
  expect(await kids(keys)).toEqual([fixedKey.kid]);
});
