import { randomUUID } from "node:crypto";
import { requires, startOwnRedis, startRedisCluster, startRedisSentinel, waitUntil } from "@svc/test-support";
import type { HopClaims } from "@svc/tokens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callerLimits } from "../src/http/authentication.ts";
import type { RateBudget, RateLimit } from "../src/ports/rate-limit.ts";
import { parseStoreAddress } from "../src/redis/address.ts";
import { embeddedRateLimit, rateLimitOf } from "../src/redis/local-rate-limit.ts";
import { redisRateLimits } from "../src/redis/rate-limit.ts";
import { readConfig } from "../src/start/config.ts";

const redis = requires("redis-server");

const takeTimes = async (count: number, limit: RateLimit, key: string): Promise<number[]> => {
  const waits: number[] = [];
  while (waits.length < count) waits.push(await limit.take(key));
  return waits;
};

/** What every rate limit promises; run on each of them. */
function rateLimitSuite(limitOf: (budget: RateBudget, kind?: string) => RateLimit): void {
  test("admits the calls of its budget, and then returns the time to wait", async () => {
    const [one, two, three, four] = await takeTimes(4, limitOf({ calls: 3, seconds: 60 }), randomUUID());
    expect([one, two, three]).toEqual([0, 0, 0]);
    expect(four).toBeGreaterThan(0);
    expect(four).toBeLessThanOrEqual(60);
  });

  test("admits exactly its budget of concurrent calls", async () => {
    const limit = limitOf({ calls: 7, seconds: 60 });
    const key = randomUUID();
    const waits = await Promise.all(Array.from({ length: 50 }, () => limit.take(key)));
    expect(waits.filter((wait) => wait === 0)).toHaveLength(7);
  });

  test("counts each key separately", async () => {
    const limit = limitOf({ calls: 1, seconds: 60 });
    expect(await limit.take(randomUUID())).toBe(0);
    expect(await limit.take(randomUUID())).toBe(0);
  });

  test("admits calls again after its period", async () => {
    const limit = limitOf({ calls: 1, seconds: 1 });
    const key = randomUUID();
    await waitUntil("two calls within a second", async () => (await limit.take(key)) === 1);
    await waitUntil("the budget to be whole again", async () => (await limit.take(key)) === 0);
  });
}

describe("in process", () => rateLimitSuite(embeddedRateLimit));

redis.describe.each([
  { kind: "a single server", start: () => startOwnRedis() },
  { kind: "Sentinel", start: startRedisSentinel },
  { kind: "Cluster", start: startRedisCluster },
])("on $kind", ({ start }) => {
  let server: Awaited<ReturnType<typeof start>>;
  let one: ReturnType<typeof redisRateLimits>;
  let other: ReturnType<typeof redisRateLimits>;

  beforeAll(async () => {
    server = await start();
    [one, other] = [connect(server.url), connect(server.url)];
    await waitUntil("both to count in the store", async () => {
      const [here, there] = [one, other].map((limits) => limits.limit("ready", { calls: 1, seconds: 60 }));
      const key = randomUUID();
      return (await here?.take(key)) === 0 && (await there?.take(key)) !== 0;
    });
  });
  afterAll(async () => {
    for (const limits of [one, other]) limits.close();
    await server.stop();
  });

  rateLimitSuite((budget) => one.limit("suite", budget));

  test("a budget is shared by all processes", async () => {
    const [here, there] = [one, other].map((limits) => limits.limit("shared", { calls: 4, seconds: 60 }));
    const key = randomUUID();
    const waits = [];
    for (const limit of [here, there, here, there, here, there]) waits.push(await limit?.take(key));
    expect(waits.map((wait) => wait === 0)).toEqual([true, true, true, true, false, false]);
  });

  test("kinds of callers have separate budgets", async () => {
    const key = randomUUID();
    const [bearers, sessions] = ["bearer", "session"].map((kind) => one.limit(kind, { calls: 1, seconds: 60 }));
    expect(await bearers?.take(key)).toBe(0);
    expect(await sessions?.take(key)).toBe(0);
  });
});

const connect = (url: string, onUnavailable: (cause: unknown) => void = () => {}): ReturnType<typeof redisRateLimits> =>
  // On a busy machine a response can take longer than the default, and the process would count by itself.
  redisRateLimits({ address: parseStoreAddress(url), deadlineMs: 60_000, onUnavailable });

redis.test("a caller over its budget causes no further request to the store", async () => {
  const server = await startOwnRedis();
  const limits = connect(server.url);
  try {
    const evaluations = async () =>
      Number(/cmdstat_eval:calls=(\d+)/.exec(String(await server.command("INFO", "commandstats")))?.[1] ?? 0);
    const limit = limits.limit("kind", { calls: 3, seconds: 600 });
    await waitUntil("the store to count", async () => {
      await limit.take(randomUUID());
      return (await evaluations()) > 0;
    });
    const before = await evaluations();
    const waits = await takeTimes(200, limit, "flood");
    expect(waits.filter((wait) => wait === 0)).toHaveLength(3);
    expect((await evaluations()) - before).toBeLessThanOrEqual(4);
  } finally {
    limits.close();
    await server.stop();
  }
});

redis.test("while the store is unreachable a process counts by itself, and reports it once", async () => {
  const server = await startOwnRedis();
  const unavailable: unknown[] = [];
  const limits = connect(server.url, (cause) => unavailable.push(cause));
  try {
    await server.kill();
    const limit = limits.limit("kind", { calls: 3, seconds: 60 });
    const waits = await takeTimes(5, limit, "caller");
    expect(waits.map((wait) => wait === 0)).toEqual([true, true, true, false, false]);
    expect(unavailable).toHaveLength(1);
  } finally {
    limits.close();
    await server.stop();
  }
});

test("a fault other than the store's is thrown, not counted as an exhausted budget", async () => {
  const broken = { consume: () => Promise.reject(new Error("a bug")) };
  await expect(rateLimitOf(broken).take("key")).rejects.toThrow("a bug");
});

describe("a caller", () => {
  const unlimited = { perBearer: undefined, perSession: undefined };
  const caller = { plane: "admin", label: "alice", id: "id" } as const;

  const subject = (sessionId: string) => ({ token: "", claims: { sessionId } as HopClaims });

  test("never waits where no limit is set", async () => {
    const limits = callerLimits(unlimited);
    expect([await limits.session(subject("one")), await limits.bearer(caller)]).toEqual([0, 0]);
  });

  test("is counted by the session of its token, and not counted while the keys cannot be read", async () => {
    const counted: string[] = [];
    const perSession: RateLimit = { take: async (key) => counted.push(key) };
    const limits = callerLimits({ ...unlimited, perSession });
    const unverified = { token: "", fault: new Error("down") };
    expect([
      await limits.session(subject("one")),
      await limits.session(unverified),
      await limits.session(subject("one")),
    ]).toEqual([1, 0, 2]);
    expect(counted).toEqual(["one", "one"]);
  });
});

describe("the settings of a limit", () => {
  const budgetOf = (written: string) => {
    const result = readConfig({ SVC_DEV: "true", SVC_RATE_LIMIT_PER_SESSION: written });
    return result.ok ? result.config.rateLimits.perSession : result.faults;
  };

  test.each([
    ["600/60", { calls: 600, seconds: 60 }],
    ["1/1", { calls: 1, seconds: 1 }],
    ["999999999/86400", { calls: 999_999_999, seconds: 86_400 }],
    ["", undefined],
  ])("%j is read", (written, budget) => expect(budgetOf(written)).toEqual(budget));

  test.each(["600", "0/60", "600/0", "600/86401", "-1/60", "1.5/60", "600/60/1", "600 / 60", "1e3/60", "0600/60"])(
    "%j is rejected",
    (written) =>
      expect(budgetOf(written)).toEqual([
        "SVC_RATE_LIMIT_PER_SESSION: must be calls/seconds, as 600/60, of at most a day",
      ]),
  );
});
