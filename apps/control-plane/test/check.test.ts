import { randomBytes } from "node:crypto";
import type { Finding } from "@svc/host/finding";
import {
  createDatabase,
  type OwnRedis,
  requires,
  spawnApp,
  startOwnRedis,
  startRedisCluster,
  type TestDatabase,
} from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import { migrate } from "../src/postgres/migrate.ts";
import { checkSettings, looksGuessable } from "../src/start/check.ts";
import { readConfig } from "../src/start/config.ts";
import { query } from "./support.ts";

const { describe, test } = requires("redis-server");

const drawn = () => randomBytes(32).toString("base64url");

let database: TestDatabase;
let store: OwnRedis;
beforeAll(async () => {
  database = await createDatabase();
  await migrate(database);
  store = await startOwnRedis();
});
afterAll(() => Promise.all([database.drop(), store.stop()]));

/** As a careful operator would set it. */
const careful = () => ({
  DATABASE_URL: database.appUrl,
  SVC_MIGRATION_DATABASE_URL: database.ownerUrl,
  REDIS_URL: store.url,
  SVC_ISSUER: "https://authz.example.com",
  SVC_ADMIN_TOKEN: `alice=${drawn()}`,
  SVC_AUDIT_TOKEN: drawn(),
  SVC_TELEMETRY_KEY: drawn(),
  SVC_KEY_ENCRYPTION_KEY: randomBytes(32).toString("base64"),
  SVC_IDENTITY_REQUIRED: "true",
  SVC_OBSERVE_SCOPES: "none",
});

async function check(changes: Readonly<Record<string, string | undefined>> = {}) {
  const findings: Finding[] = [];
  for await (const finding of checkSettings(readConfig({ ...careful(), ...changes }))) findings.push(finding);
  const whatOf = (level: Finding["level"]) => findings.filter((each) => each.level === level).map(({ what }) => what);
  return { bad: whatOf("bad"), notes: whatOf("note"), output: JSON.stringify(findings) };
}

test("strict settings and a role that can only append to the record yield no finding", async () => {
  expect(await check()).toMatchObject({ bad: [], notes: [] });
});

const guessable = "correct-horse-battery-admin-staple";
const twice = drawn();
const found: readonly (readonly [string, () => Record<string, string | undefined>, RegExp])[] = [
  ["development mode", () => ({ SVC_DEV: "true" }), /SVC_DEV is on/],
  ["a guessable token", () => ({ SVC_AUDIT_TOKEN: guessable }), /SVC_AUDIT_TOKEN can be guessed/],
  [
    "a guessable token of enforcement points",
    () => ({ SVC_ENFORCEMENT_TOKEN: guessable }),
    /SVC_ENFORCEMENT_TOKEN can be guessed/,
  ],
  [
    "a key of zeros",
    () => ({ SVC_KEY_ENCRYPTION_KEY: Buffer.alloc(32).toString("base64") }),
    /KEY_ENCRYPTION_KEY can be/,
  ],
  ["one secret for two planes", () => ({ SVC_ADMIN_TOKEN: twice, SVC_AUDIT_TOKEN: twice }), /hold the same secret/],
  ["a missing setting", () => ({ SVC_TELEMETRY_KEY: undefined }), /SVC_TELEMETRY_KEY: is required/],
  ["an unreadable setting", () => ({ SVC_IDENTITY_REQUIRED: "yes" }), /SVC_IDENTITY_REQUIRED: must be true or false/],
  ["the owner as the service's role", () => ({ DATABASE_URL: database.ownerUrl }), /owns \d+ of \d+ tables/],
  ["a superuser as the service's role", () => ({ DATABASE_URL: database.superuserUrl }), /is a superuser/],
  [
    "a database without a server",
    () => ({ DATABASE_URL: "postgres://127.0.0.1:9/none" }),
    /^DATABASE_URL: the database does not answer/,
  ],
  [
    "a migration database without a server",
    () => ({ SVC_MIGRATION_DATABASE_URL: "postgres://127.0.0.1:9/none" }),
    /^SVC_MIGRATION_DATABASE_URL: the database does not answer/,
  ],
  ["a cache store without a server", () => ({ REDIS_URL: "redis://127.0.0.1:9" }), /^REDIS_URL: it does not serve/],
];

test.each(found)("%s is a bad finding, and no finding shows a secret", async (_name, changes, wanted) => {
  const { bad, output } = await check(changes());
  expect(bad).toEqual([expect.stringMatching(wanted)]);
  for (const secret of [guessable, twice, new URL(database.appUrl).password]) expect(output).not.toContain(secret);
});

describe("a cache store", () => {
  test("that may evict is a bad finding", async () => {
    await store.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    try {
      expect((await check()).bad).toEqual(["the cache store may evict spends"]);
    } finally {
      await store.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
    }
  });

  test("of which the setting names one node is a bad finding", async () => {
    const cluster = await startRedisCluster();
    try {
      const { bad } = await check({ REDIS_URL: cluster.nodes[0]?.url });
      expect(bad).toEqual([expect.stringMatching(/^REDIS_URL: it is one node of a cluster/)]);
    } finally {
      await cluster.stop();
    }
  });
});

describe("a role of the service", () => {
  const role = () => new URL(database.appUrl).username;

  test.each([
    ["update (target) on decision", /may change the record: .*decision/],
    ["delete on spend", /may change the record: spend/],
    ["truncate on mint", /may change the record: mint/],
    ["create on schema public", /can create objects/],
  ])("with the right to %s is a bad finding", async (right, wanted) => {
    await query(database.superuserUrl, `grant ${right} to "${role()}"`);
    try {
      expect((await check()).bad).toEqual([expect.stringMatching(wanted)]);
    } finally {
      await query(database.superuserUrl, `revoke ${right} from "${role()}"`);
    }
  });

  test.each([
    ["insert on decision", /may not add to the record: decision/],
    ["select on spend", /may not add to the record: spend/],
  ])("without the right to %s is a bad finding", async (right, wanted) => {
    await query(database.superuserUrl, `revoke ${right} from "${role()}"`);
    try {
      expect((await check()).bad).toEqual([expect.stringMatching(wanted)]);
    } finally {
      await query(database.superuserUrl, `grant ${right} to "${role()}"`);
    }
  });

  test("in a database without the schema is a bad finding", async () => {
    const empty = await createDatabase();
    try {
      expect((await check({ DATABASE_URL: empty.appUrl })).bad).toEqual(["the schema is not there"]);
    } finally {
      await empty.drop();
    }
  });
});

test.each([
  [
    "create policy hidden on decision using (false)",
    "drop policy hidden on decision",
    /row-level security of decision/,
  ],
  [
    "alter table mint disable trigger append_only",
    "alter table mint enable always trigger append_only",
    /append_only of mint/,
  ],
])("a table of the record that was changed is a bad finding: %s", async (change, undo, wanted) => {
  await query(database.ownerUrl, change);
  try {
    expect((await check()).bad).toEqual([expect.stringMatching(wanted)]);
  } finally {
    await query(database.ownerUrl, undo);
  }
});

test("a weaker setting that is allowed is a note", async () => {
  const { bad, notes } = await check({
    SVC_IDENTITY_REQUIRED: undefined,
    SVC_OBSERVE_SCOPES: undefined,
    SVC_ISSUER: undefined,
    REDIS_URL: undefined,
    SVC_TELEMETRY_DISCLOSE_IDENTITIES: "true",
    SVC_SOMETHING_ELSE: "1",
  });
  expect(bad).toEqual([]);
  expect(notes).toHaveLength(6);
});

test("the command prints each finding as a line of JSON and exits 1 where one is bad", async () => {
  const run = async (env: Record<string, string>) => {
    const child = spawnApp({ main: "@svc/control-plane/main", args: ["check"], env });
    const code = await child.exited;
    const levels = child
      .stdout()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).level);
    return { code, isBad: levels.includes("bad") };
  };
  expect(await run(careful())).toEqual({ code: 0, isBad: false });
  expect(await run({ ...careful(), SVC_DEV: "true" })).toEqual({ code: 1, isBad: true });
});

describe("a random secret", () => {
  test.each([8, 16, 24, 32].flatMap((bytes) => (["base64url", "hex"] as const).map((as) => [bytes, as] as const)))(
    "of %i bytes in %s is accepted from 16 bytes on",
    (bytes, as) => {
      const all = Array.from({ length: 500 }, () => randomBytes(bytes).toString(as));
      // About one random secret in 100,000 has a run such as "abcdef".
      expect(all.filter(looksGuessable).length > 5).toBe(bytes < 16);
    },
  );

  test.each([
    "a".repeat(64),
    "ab12".repeat(16),
    `${"x".repeat(20)}${"y".repeat(20)}`,
    "change-me-change-me-change-me-change",
    "0123456789abcdef0123456789abcdef",
    "MySuperPassword!2026forThisService",
  ])("%s looks guessable", (secret) => expect(looksGuessable(secret)).toBe(true));
});
