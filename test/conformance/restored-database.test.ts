import {
  type ControlPlane,
  createDatabase,
  type OwnRedis,
  requires,
  startControlPlane,
  startOwnRedis,
  type TestDatabase,
  testBearers,
  waitUntil,
} from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import { type Answer, type Api, createApi, refusalCode } from "./src/api.ts";
import { backUp } from "./src/backup.ts";
import { raiseEpoch } from "./src/issuer-keys.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";
import { asOwner } from "./src/stack.ts";

const { describe, test } = requires("redis-server");

const hops = ledgerHops("books");
const stops: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

let redis: OwnRedis;
let backup: TestDatabase;

async function startOn(database: TestDatabase, servesOnce: "/readyz" | "/livez"): Promise<ControlPlane & { api: Api }> {
  const env = { SVC_ISSUER: "https://issuer.test" };
  const controlPlane = await startControlPlane({ database, redis }, env, [], servesOnce);
  stops.push(controlPlane.stop);
  return { ...controlPlane, api: createApi(controlPlane.url, testBearers) };
}

const countOf = (database: TestDatabase): Promise<number> =>
  asOwner(database, async (sql) => Number((await sql`select count from witness`)[0]?.count));
const cachedCount = async (store: OwnRedis): Promise<number> => {
  const [key = ""] = String(await store.command("KEYS", "svc:witness:*")).split(",");
  return Number(await store.command("GET", key));
};
const codeOf = ({ status, ...answer }: Answer): string => `${status} ${refusalCode({ status, ...answer })}`;

/** Tokens and allows that callers had before the backup. */
let session: string;
let unspent: string;
let spentSince: { readonly token: string; readonly action: string };
let narrowed: { readonly token: string; readonly action: string };

beforeAll(async () => {
  const database = await createDatabase();
  stops.push(database.drop);
  redis = await startOwnRedis();
  stops.push(() => redis.stop());
  const before = await startOn(database, "/readyz");
  await registerLedger(before.api, "books");
  const { clerk, ...rest } = await clerkSession(before.api, "books");
  session = rest.session;
  const [first = "", second = "", third = ""] = (await before.api.renew(clerk.token, 3)).body.tokens;
  unspent = first;
  narrowed = await before.api.hop(session, second, hops.post);
  spentSince = { token: third, action: (await before.api.authorize(session, third, hops.read)).body.action_id };
  await before.stop();
  backup = await backUp(database);
  stops.push(backup.drop);

  const after = await startOn(database, "/readyz");
  expect((await after.api.exchange(spentSince.token, hops.read, spentSince.action)).status).toBe(200);
  const kept = await countOf(backup);
  await waitUntil("the cache store to have the newer count", async () => (await cachedCount(redis)) > kept);
  await after.stop();
  // As if their entries had expired: only the high-water mark shows that the backup is older.
  for (const key of String(await redis.command("KEYS", "svc:guard:*")).split(",")) await redis.command("DEL", key);
});

describe("two processes on a database that was restored from a backup", () => {
  let one: Api;
  let other: Api;
  beforeAll(async () => {
    [one, other] = (await Promise.all([startOn(backup, "/livez"), startOn(backup, "/livez")])).map(
      ({ api }) => api,
    ) as [Api, Api];
  });
  const readiness = async () => (await Promise.all([one, other].map((api) => api.call("GET", "/readyz")))).map(codeOf);

  test("are not ready, and readiness names the remedy", async () => {
    expect(await readiness()).toEqual(Array(2).fill("503 restore_unacknowledged"));
    const { body } = await one.call("GET", "/readyz");
    expect(body.details).toEqual({ failing: ["restore"] });
    expect(body.error.message).toContain("POST /v1/issuer-epoch");
  });

  test("grant nothing: no decision, no token, no session", async () => {
    for (const api of [one, other]) {
      const consent = { bearer: testBearers.admin, body: { scope: "books", user_sub: "ada" } };
      expect({
        authorize: codeOf(await api.authorize(session, unspent, hops.read)),
        exchange: codeOf(await api.exchange(spentSince.token, hops.read, spentSince.action)),
        renew: codeOf(await api.renew(unspent, 1)),
        mint: codeOf(await api.mint(narrowed.token, narrowed.action, {})),
        consent: codeOf(await api.call("POST", "/v1/consent", consent)),
      }).toEqual({
        authorize: "503 audit_unavailable",
        exchange: "503 invalid_grant",
        renew: "503 guard_unavailable",
        mint: "503 audit_unavailable",
        consent: "503 restore_unacknowledged",
      });
    }
  });

  test("serve reads, keys, blocks and revocations", async () => {
    const admin = { bearer: testBearers.admin };
    const answers = await Promise.all([
      one.decisions("limit=1"),
      one.chain(narrowed.action),
      one.call("GET", "/v1/agents", admin),
      one.call("GET", "/.well-known/jwks.json"),
      one.call("PUT", "/v1/blocks/tool/http:elsewhere", { ...admin, body: { reason: "again, after the restore" } }),
      one.call("POST", `/v1/sessions/${session}/revoke`, { ...admin, body: {} }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });

  test("become ready after the issuer's epoch is raised at one, and refuse earlier tokens", async () => {
    const raised = await raiseEpoch(one, { reason: "restored from Monday" });
    expect(raised.status).toBe(200);
    expect(codeOf(await one.call("GET", "/readyz"))).toBe("200 undefined");
    expect(await readiness()).toEqual(Array(2).fill("200 undefined"));
    for (const api of [one, other]) {
      expect((await api.authorize(session, unspent, hops.read)).status).toBe(401);
      expect(codeOf(await api.exchange(spentSince.token, hops.read, spentSince.action))).toBe("400 invalid_request");
      await clerkSession(api, "books");
    }
  });

  const setCount = (count: number) => asOwner(backup, (sql) => sql`update witness set count = ${count}`);

  test("notice a second restore without a restart", async () => {
    const { session: running, token } = await one.consent("books");
    // An hour of counting, then a standby that lacks all of it.
    const acknowledged = await countOf(backup);
    await setCount(acknowledged + 1_800);
    await waitUntil(
      "the cache store to have the new count",
      async () => (await cachedCount(redis)) > acknowledged + 1_000,
    );
    await setCount(acknowledged);
    await waitUntil("it to be noticed", async () => (await one.authorize(running, token, hops.planner)).status === 503);
    expect(await readiness()).toEqual(Array(2).fill("503 restore_unacknowledged"));
    await raiseEpoch(other);
    expect(await readiness()).toEqual(Array(2).fill("200 undefined"));
  });

  test("serve where the cache store is empty too, since the restore cannot be noticed", async () => {
    await redis.command("FLUSHALL");
    await setCount(0);
    expect(await readiness()).toEqual(Array(2).fill("200 undefined"));
  });
});

test("a new database with an old cache store is ready at once", async () => {
  const fresh = await createDatabase();
  stops.push(fresh.drop);
  await waitUntil("the cache store to know another deployment", async () => (await cachedCount(redis)) > 0);
  const { api } = await startOn(fresh, "/readyz");
  await registerLedger(api, "books");
  await clerkSession(api, "books");
});
