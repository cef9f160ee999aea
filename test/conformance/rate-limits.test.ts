import {
  budgets,
  createMigratedDatabase,
  type OwnRedis,
  requires,
  startControlPlane,
  startOwnRedis,
  testBearers,
  waitUntil,
} from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, type Api, createApi } from "./src/api.ts";
import { ledgerHops, registerLedger } from "./src/ledger.ts";
import { type One, type Pair, startOne, startPair } from "./src/stack.ts";

const redis = requires("redis-server");
const hops = ledgerHops("books");
const calls = 5;
/** Long enough that a budget is refilled only in the test that waits for it. */
const perSession = { SVC_RATE_LIMIT_PER_SESSION: `${calls}/600` };

const targets = (api: Api, token: string) => api.call("GET", "/v1/session/targets", { bearer: token });
const statuses = async (count: number, call: () => Promise<Answer>): Promise<number[]> => {
  const seen: number[] = [];
  while (seen.length < count) seen.push((await call()).status);
  return seen;
};
const allowed = (count: number) => Array<number>(count).fill(200);

describe("without a limit", () => {
  let stack: One;
  beforeAll(async () => {
    stack = await startOne();
    await registerLedger(stack.api, "books");
  });
  afterAll(() => stack.stop());

  test("no request is refused", async () => {
    const { api } = stack;
    const { token } = await api.consent("books");
    expect(await statuses(100, () => targets(api, token))).toEqual(allowed(100));
  });
});

redis.describe("a session's limit", () => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await startPair(perSession);
    await registerLedger(pair.one, "books");
  });
  afterAll(() => pair.stop());

  test("holds over all processes together, and the response says how long to wait", async () => {
    const { token } = await pair.one.consent("books");
    const seen = await statuses(calls, async () => {
      const [api] = [pair.one, pair.other].sort(() => Math.random() - 0.5);
      return targets(api ?? pair.one, token);
    });
    expect(seen).toEqual(allowed(calls));
    for (const api of [pair.one, pair.other]) {
      const answer = await targets(api, token);
      expect([answer.status, answer.body.error.code]).toEqual([429, "rate_limited"]);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(500);
      expect(Number(answer.headers.get("retry-after"))).toBeLessThanOrEqual(600);
      expect(answer.headers.get("cache-control")).toBe("no-store");
    }
  });

  test("admits no more than the budget of calls that arrive at once", async () => {
    const { token } = await pair.one.consent("books");
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => targets(index % 2 === 0 ? pair.one : pair.other, token)),
    );
    const seen = answers.map(({ status }) => status);
    expect(seen.filter((status) => status === 200)).toHaveLength(calls);
    expect(seen.filter((status) => status === 429)).toHaveLength(40 - calls);
  });

  test("counts every hop endpoint; the exchange refuses in OAuth's shape and spends nothing", async () => {
    const api = pair.one;
    const { session, token } = await api.consent("books");
    const renewed = await api.renew(token, 3);
    const [forNarrowed, forExchange, spare]: string[] = renewed.body.tokens;
    const narrowed = await api.hop(session, forNarrowed ?? "", hops.planner);
    const decision = await api.authorize(session, forExchange ?? "", hops.planner);
    expect(decision.body.decision).toBe("allow");
    await statuses(calls - 4, () => targets(api, spare ?? ""));

    const exchanged = await api.exchange(forExchange ?? "", hops.planner, decision.body.action_id);
    expect([exchanged.status, exchanged.body]).toEqual([
      429,
      { error: "slow_down", error_description: expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/) },
    ]);
    expect(Number(exchanged.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(exchanged.headers.get("cache-control")).toBe("no-store");
    const others = [
      await api.authorize(session, spare ?? "", hops.planner),
      await api.renew(spare ?? "", 1),
      await api.mint(narrowed.token, narrowed.action, {}),
    ];
    expect(others.map(({ status, body }) => [status, body.error.code])).toEqual(Array(3).fill([429, "rate_limited"]));
    const read = await api.decisions(`session_id=${session}`);
    expect(read.body.data).toMatchObject([
      { action_id: decision.body.action_id, spent_at: null },
      { action_id: narrowed.action },
    ]);
  });

  test("counts each line of hops once; a refused line is not decided, and another session's line is", async () => {
    const api = pair.one;
    const [limited, other] = [await api.consent("books"), await api.consent("books")];
    const lineOf = ({ session, token }: typeof limited) => ({
      session_id: session,
      token,
      ...hops.planner,
      body_settled: true,
    });
    const answers = await api.hops([...Array(calls + 2).fill(lineOf(limited)), lineOf(other)]);
    expect(answers.at(-1)?.authorize?.status).toBe(200);
    const refused = answers.filter(({ authorize }) => authorize?.status !== 200);
    expect(refused.map(({ authorize }) => [authorize?.status, authorize?.body.error.code])).toEqual(
      Array(2).fill([429, "rate_limited"]),
    );
    for (const { authorize } of refused) expect(Number(authorize?.retry_after)).toBeGreaterThan(500);
    expect((await targets(api, limited.token)).status).toBe(429);
    expect((await api.decisions(`session_id=${limited.session}`)).body.data).toHaveLength(calls);
  });

  test("does not affect other sessions or routes without a hop token", async () => {
    const { token } = await pair.one.consent("books");
    await statuses(calls + 1, () => targets(pair.one, token));
    const neighbour = await pair.one.consent("books");
    expect((await targets(pair.one, neighbour.token)).status).toBe(200);
    expect((await pair.one.call("GET", "/.well-known/jwks.json")).status).toBe(200);
  });

  test("cannot be used up with the session's id and no valid token", async () => {
    const { token } = await pair.one.consent("books");
    const [header, payload = ""] = token.split(".");
    const forged = [
      `${header}.${payload}.${Buffer.alloc(64).toString("base64url")}`,
      `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`,
    ];
    for (const stranger of forged) {
      expect(await statuses(calls * 2, () => targets(pair.other, stranger))).toEqual(Array(calls * 2).fill(401));
      const exchanged = await pair.other.exchange(stranger, hops.planner, "01a00000-0000-7000-8000-000000000000");
      expect([exchanged.status, exchanged.body.error]).toEqual([400, "invalid_request"]);
    }
    expect(await statuses(calls, () => targets(pair.one, token))).toEqual(allowed(calls));
  });
});

describe("a bearer's limit", () => {
  const other = "another-admin-token-of-the-tests-0123456789";
  let stack: One;
  beforeAll(async () => {
    stack = await startOne({
      SVC_RATE_LIMIT_PER_BEARER: `${calls}/600`,
      SVC_ADMIN_TOKEN: `${testBearers.admin},${other}`,
    });
  });
  afterAll(() => stack.stop());

  test("is one token's, not its plane's, and an invalid bearer cannot use it up", async () => {
    const { api } = stack;
    const agents = (bearer: string) => api.call("GET", "/v1/agents", { bearer });
    expect(await statuses(calls * 2, () => agents("a-stranger's-token".replaceAll("'", "-")))).toEqual(
      Array(calls * 2).fill(401),
    );
    expect(await statuses(calls, () => agents(testBearers.admin))).toEqual(allowed(calls));
    const refused = await agents(testBearers.admin);
    expect([refused.status, refused.body.error.code]).toEqual([429, "rate_limited"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    const elsewhere = await api.call("GET", "/v1/audit/decisions", { bearer: testBearers.admin });
    expect(elsewhere.status).toBe(429);
    expect((await agents(other)).status).toBe(200);
    expect((await api.call("GET", "/v1/audit/decisions", { bearer: testBearers.audit })).status).toBe(200);
    expect((await api.call("GET", "/readyz")).status).toBe(200);
  });
});

test("a budget is full again after its period", async () => {
  const { api, stop } = await startOne({ SVC_RATE_LIMIT_PER_BEARER: "2/1" });
  try {
    const list = () => api.call("GET", "/v1/agents", { bearer: testBearers.admin });
    const waits: (string | null)[] = [];
    await waitUntil("the budget to be used up", async () => {
      const { status, headers } = await list();
      if (status === 429) waits.push(headers.get("retry-after"));
      return waits.length > 0;
    });
    expect(waits).toEqual(["1"]);
    await waitUntil("the list to work again", async () => (await list()).status === 200);
  } finally {
    await stop();
  }
});

redis.describe("while the cache store", () => {
  let store: OwnRedis;
  let api: Api;
  const stops: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    const database = await createMigratedDatabase();
    store = await startOwnRedis();
    const controlPlane = await startControlPlane(
      { database, redis: store },
      // Few: every call waits this long for a stopped store.
      { ...perSession, ...budgets({ rateLimit: 1_000 }) },
    );
    stops.push(controlPlane.stop, store.stop, database.drop);
    api = createApi(controlPlane.url, testBearers);
    await registerLedger(api, "books");
  });
  afterAll(async () => {
    for (const stop of stops) await stop();
  });

  test.each([
    ["is killed", () => store.kill(), () => store.restart()],
    ["does not respond", async () => store.freeze(), async () => store.thaw()],
  ])("%s, decisions are served and each process counts by itself", async (_how, breakIt, mend) => {
    const { session, token } = await api.consent("books");
    await breakIt();
    try {
      const decide = () => api.authorize(session, token, hops.planner);
      expect(await statuses(calls, decide)).toEqual(allowed(calls));
      expect((await decide()).status).toBe(429);
    } finally {
      await mend();
    }
    await waitUntil("it to be ready", async () => (await api.call("GET", "/readyz")).status === 200);
    const fresh = await api.consent("books");
    expect((await targets(api, fresh.token)).status).toBe(200);
    await waitUntil("the store to count again", async () => {
      await targets(api, fresh.token);
      return String(await store.command("KEYS", "svc:rate:session:*")).includes(fresh.session);
    });
  });
});
