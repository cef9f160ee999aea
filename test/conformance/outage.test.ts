import {
  budgets,
  createDatabase,
  type FaultProxy,
  type OwnRedis,
  requires,
  startControlPlane,
  startFaultProxy,
  startOwnRedis,
  testBearers,
  waitUntil,
} from "@svc/test-support";
import { afterAll, beforeAll, expect } from "vitest";
import { type Api, createApi } from "./src/api.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";

const { describe, test } = requires("redis-server");

let api: Api;
let database: FaultProxy;
let redis: OwnRedis;
/** Between control plane and cache store. */
let store: FaultProxy;
const stops: (() => Promise<unknown>)[] = [];
const hops = ledgerHops("books");
/** A store that never responds uses these budgets up with every call. */
const briefBudgets = budgets({
  statement: 5_000,
  commit: 5_000,
  read: 5_000,
  auditRead: 5_000,
  probe: 5_000,
  readiness: 5_000,
  replayGuard: 3_000,
});

beforeAll(async () => {
  const stored = await createDatabase();
  database = await startFaultProxy(Number(new URL(stored.appUrl).port));
  redis = await startOwnRedis();
  store = await startFaultProxy(redis.port);
  const through = (url: string) => Object.assign(new URL(url), { port: String(database.port) }).href;
  const proxied = { appUrl: through(stored.appUrl), ownerUrl: stored.ownerUrl };
  const controlPlane = await startControlPlane(
    { database: proxied, redis: { url: `redis://127.0.0.1:${store.port}` } },
    briefBudgets,
  );
  stops.push(
    () => controlPlane.stop(),
    () => database.stop(),
    () => store.stop(),
    () => redis.stop(),
    () => stored.drop(),
  );
  api = createApi(controlPlane.url, testBearers);
  await registerLedger(api, "books");
});
afterAll(async () => {
  for (const stop of stops) await stop();
});

const ready = () => api.call("GET", "/readyz");
const becomes = (status: number) => waitUntil(`readiness ${status}`, async () => (await ready()).status === status);

async function allowedRead() {
  const { session, clerk } = await clerkSession(api, "books");
  const decision = await api.authorize(session, clerk.token, hops.read);
  return { session, token: clerk.token, action: decision.body.action_id as string };
}

/** A line of hops: its decision, its exchange, and whether a token came back. */
async function lineOf(session: string, token: string) {
  const [answer] = await api.hops([{ session_id: session, token, ...hops.read, body_settled: true }]);
  const { authorize, exchange, sibling } = answer ?? {};
  return {
    decision: [authorize?.status, authorize?.body.error?.code],
    exchange: [exchange?.status, exchange?.body.error],
    hasSibling: sibling !== undefined,
  };
}

const outages = [
  {
    name: "refuses connections",
    break: () => database.refuse(),
    mend: () => database.accept(),
  },
  {
    name: "does not respond",
    break: async () => database.freeze(),
    mend: async () => database.thaw(),
  },
];

test("hops are decided once the database accepts connections again, also after several short outages", async () => {
  const { session, token } = await allowedRead();
  const authorized = () => api.authorize(session, token, hops.read);
  for (let times = 0; times < 6; times++) {
    await database.refuse();
    await Promise.all(Array.from({ length: 1 + times }, authorized));
    await database.accept();
    await waitUntil("a decision", async () => (await authorized()).status === 200);
  }
});

describe.each(outages)("while the database $name", ({ break: breakIt, mend }) => {
  test("every hop endpoint refuses with its own error, no token is issued, and service recovers without a restart", async () => {
    const { session, token, action } = await allowedRead();
    const spare = await allowedRead();
    await breakIt();
    try {
      const authorized = await api.authorize(session, token, hops.read);
      expect([authorized.status, authorized.body.error?.code]).toEqual([503, "audit_unavailable"]);
      const exchanged = await api.exchange(token, hops.read, action);
      expect([exchanged.status, exchanged.body.error]).toEqual([503, "invalid_grant"]);
      const renewed = await api.renew(spare.token, 1);
      expect([renewed.status, renewed.body.error?.code]).toEqual([503, "guard_unavailable"]);
      expect(await lineOf(session, token)).toEqual({
        decision: [503, "audit_unavailable"],
        exchange: [undefined, undefined],
        hasSibling: false,
      });
      const read = await api.decisions("");
      expect([read.status, read.body.error?.code]).toEqual([503, "database_unavailable"]);
      for (const answer of [authorized, exchanged, renewed]) expect(answer.headers.get("retry-after")).toBe("1");
      const unready = await ready();
      expect([unready.status, unready.body.error.code]).toEqual([503, "database_unavailable"]);
      expect((await api.call("GET", "/livez")).status).toBe(200);
    } finally {
      await mend();
    }
    await becomes(200);
    const again = await allowedRead();
    expect((await api.exchange(again.token, hops.read, again.action)).status).toBe(200);
  });
});

const storeOutages = [
  {
    name: "is killed",
    break: () => redis.kill(),
    mend: () => redis.restart(),
  },
  {
    name: "does not respond",
    break: async () => redis.freeze(),
    mend: async () => redis.thaw(),
  },
];

const undecidedUse = { decision: [200, undefined], exchange: [503, "invalid_grant"], hasSibling: false };

/** The claim is written, and its answer never arrives. */
test("where the cache store's answer is lost a line spends nothing, and its token serves no other action", async () => {
  const { session, token } = await allowedRead();
  const spends = async () => {
    const { body } = await api.decisions(`session_id=${session}`);
    const reads: { target: string; spent_at: string | null }[] = body.data;
    return reads.filter(({ target }) => target === hops.read.target).map(({ spent_at }) => spent_at);
  };
  store.spoil("svc:guard:", { kind: "stalled", afterBytes: 0 });
  expect(await lineOf(session, token)).toEqual(undecidedUse);
  store.heal();
  store.sever();
  await becomes(200);
  expect(await spends()).toEqual([null, null]);
  expect(await lineOf(session, token)).toMatchObject({ exchange: [400, "invalid_grant"], hasSibling: false });
  await redis.command("FLUSHALL");
  expect(await lineOf(session, token)).toMatchObject({ exchange: [200, undefined], hasSibling: true });
});

describe.each(storeOutages)("while the cache store $name", ({ break: breakIt, mend }) => {
  test("decisions are served, no token is issued, and the same exchange succeeds after recovery", async () => {
    const { session, token, action } = await allowedRead();
    const ofLine = await allowedRead();
    await breakIt();
    try {
      expect(await lineOf(ofLine.session, ofLine.token)).toEqual(undecidedUse);
      expect((await api.authorize(session, token, hops.read)).body.decision).toBe("allow");
      const exchanged = await api.exchange(token, hops.read, action);
      expect([exchanged.status, exchanged.body.error]).toEqual([503, "invalid_grant"]);
      const renewed = await api.renew(token, 1);
      expect([renewed.status, renewed.body.error?.code]).toEqual([503, "guard_unavailable"]);
      const unready = await ready();
      expect([unready.status, unready.body.error.code]).toEqual([503, "guard_unavailable"]);
    } finally {
      await mend();
    }
    await becomes(200);
    expect((await api.exchange(token, hops.read, action)).status).toBe(200);
    expect((await api.exchange(token, hops.read, action)).status).toBe(400);
  });
});

test("an exchanged token stays spent after the cache store loses its data", async () => {
  const { token, action } = await allowedRead();
  expect((await api.exchange(token, hops.read, action)).status).toBe(200);
  await redis.command("FLUSHALL");
  expect((await api.exchange(token, hops.read, action)).body.error).toBe("invalid_grant");
});

test("the cache store's entry for a spent token outlives the token", async () => {
  const keys = async () => String(await redis.command("KEYS", "svc:guard:*")).split(",");
  const lives = async (key: string) => Number(await redis.command("TTL", key));
  for (const ttlSeconds of [60, 3_600]) {
    const before = await keys();
    const { session, token } = await api.consent("books", { ttl_seconds: ttlSeconds });
    await api.hop(session, token, hops.planner);
    const [entry = ""] = (await keys()).filter((key) => !before.includes(key));
    expect(await lives(entry)).toBeGreaterThan(ttlSeconds);
  }
});

test("with a cache store that may evict entries the service is not ready", async () => {
  await redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
  await becomes(503);
  await redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
  await becomes(200);
});
