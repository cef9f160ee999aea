import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRenewalPool, type LeaseResult, type RenewalPoolOptions } from "../src/steps/index.ts";
import { type Fate, SimulatedPlane } from "./support/simulated-plane.ts";
import { settled, TestTime } from "./support/test-time.ts";

const budget = { deadlineMs: 1_000 };

function setUp(options: Partial<RenewalPoolOptions> & { sessionSeconds?: number } = {}) {
  const { sessionSeconds, ...rest } = options;
  const time = new TestTime();
  const plane = new SimulatedPlane(time, sessionSeconds);
  const { now, monotonicMs, after } = time;
  const pool = createRenewalPool({ source: plane.source, now, monotonicMs, after, random: () => 0.5, ...rest });
  return { time, plane, pool };
}

const tokenOf = (result: LeaseResult): string => {
  if (result.kind !== "leased") throw new Error(`not leased: ${JSON.stringify(result)}`);
  return result.lease.token;
};

describe("one presented token serves many calls", () => {
  test.each(["root", "agent"] as const)("20 in a row on a %s token, over minutes", async (kind) => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue(kind);
    for (let call = 0; call < 20; call += 1) {
      expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
      await time.advance(15_000);
    }
    expect(plane.presentedAgain).toEqual([]);
  });

  test.each([10, 100])("%i at once", async (count) => {
    const { plane, pool } = setUp();
    const presented = await plane.issue("agent");
    const leases = await Promise.all(Array.from({ length: count }, () => pool.lease(presented, budget)));
    const tokens = leases.map(tokenOf);
    expect(new Set(tokens).size).toBe(count);
    expect(tokens.every((token) => plane.exchange(token))).toBe(true);
    expect(plane.presentedAgain).toEqual([]);
    expect(Math.max(...plane.renewals)).toBeLessThanOrEqual(8);
  });

  test("a call in a row rarely waits: the next token is there before it is asked for", async () => {
    const { plane, pool } = setUp();
    const presented = await plane.issue("root");
    await pool.lease(presented, budget);
    for (let call = 0; call < 50; call += 1) {
      await settled();
      let leased = false;
      void pool.lease(presented, budget).then(() => {
        leased = true;
      });
      await Promise.resolve();
      await Promise.resolve();
      await Promise.resolve();
      expect(leased).toBe(true);
    }
  });
});

describe("what was lost", () => {
  const fates = fc.constantFrom<Fate>(
    "answered",
    "request_lost",
    "answer_lost",
    "refused_connect",
    "guard_unavailable",
  );
  const steps = fc.array(
    fc.oneof(
      fc.record({ do: fc.constant("calls" as const), count: fc.integer({ min: 1, max: 12 }), spend: fc.boolean() }),
      fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 90_000 }) }),
      fc.record({ do: fc.constant("toggle readiness" as const) }),
    ),
    { maxLength: 15 },
  );

  test("whatever is lost, refused or given back, no jti is presented twice", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom("root", "agent"), steps, fc.array(fates), async (kind, script, wire) => {
        // A pool that idled out is forgotten, and with it that its token was presented: the control plane refuses that one.
        const { time, plane, pool } = setUp({ idleSeconds: 100_000 });
        plane.fateOf = () => wire.shift() ?? "answered";
        const presented = await plane.issue(kind);
        for (const step of script) {
          if (step.do === "wait") await time.advance(step.ms);
          else if (step.do === "toggle readiness") plane.isReady = !plane.isReady;
          else {
            const calls = Array.from({ length: step.count }, () => pool.lease(presented, budget));
            await settled();
            await time.advance(1_000);
            for (const result of await Promise.all(calls)) {
              if (result.kind !== "leased") continue;
              if (step.spend) plane.exchange(result.lease.token);
              else result.lease.giveBack();
            }
          }
        }
        await pool.close();
        expect(plane.presentedAgain).toEqual([]);
        expect(time.pendingTimers).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  test("no single loss after the first renewal ends the session, however many calls come at once", async () => {
    const calm = fc.integer({ min: 1, max: 6 });
    const losses = fc.array(fc.tuple(calm, fc.constantFrom<Fate>("request_lost", "answer_lost")), { maxLength: 10 });
    const bursts = fc.array(
      fc.record({ calls: fc.integer({ min: 1, max: 12 }), waitMs: fc.integer({ min: 0, max: 20_000 }) }),
      { maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(losses, bursts, async (plan, script) => {
        const wire = plan.flatMap(([answered, fate]): Fate[] => [...Array<Fate>(answered).fill("answered"), fate]);
        const { time, plane, pool } = setUp();
        plane.fateOf = () => wire.shift() ?? "answered";
        const presented = await plane.issue("agent");
        for (const { calls, waitMs } of script) {
          const leases = Array.from({ length: calls }, () => pool.lease(presented, budget));
          for (const result of await Promise.all(leases)) expect(plane.exchange(tokenOf(result))).toBe(true);
          await time.advance(waitMs);
        }
        expect(plane.presentedAgain).toEqual([]);
        await pool.close();
      }),
    );
  });

  test("renewals in quick succession do not end the refreshing: calls go on beyond the tokens' minute", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("agent");
    for (const { calls, waitMs } of [
      { calls: 3, waitMs: 695 },
      { calls: 1, waitMs: 4_513 },
      { calls: 1, waitMs: 19_999 },
      { calls: 1, waitMs: 17_280 },
      { calls: 1, waitMs: 15_013 },
      { calls: 1, waitMs: 0 },
    ]) {
      const leases = await Promise.all(Array.from({ length: calls }, () => pool.lease(presented, budget)));
      for (const lease of leases) expect(plane.exchange(tokenOf(lease))).toBe(true);
      await time.advance(waitMs);
    }
    await pool.close();
  });

  test("a stalled control plane costs one token, not one per attempt", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("agent");
    tokenOf(await pool.lease(presented, budget));
    let attempts = 0;
    plane.isReady = false;
    plane.fateOf = () => {
      attempts += 1;
      return "request_lost";
    };
    await time.advance(40_000);
    expect(attempts).toBe(1);
    plane.isReady = true;
    plane.fateOf = () => "answered";
    await time.advance(6_000);
    expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
  });

  test("a refused connect spends nothing: the presented token still works afterwards", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("root");
    plane.fateOf = () => "refused_connect";
    for (let call = 0; call < 5; call += 1) {
      expect(await pool.lease(presented, budget)).toMatchObject({ kind: "unusable", fault: "refused" });
    }
    plane.fateOf = () => "answered";
    await time.advance(6_000);
    expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
  });

  test.each([
    [400, "invalid_proof", true],
    [429, "rate_limited", true],
    [503, "database_unavailable", true],
    [403, "some_proxy", false],
    [500, "internal", false],
    [503, undefined, false],
  ])("after a %i %s the presented token is used again: %s", async (status, code, want) => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("root");
    plane.refusal = { kind: "unusable", fault: "status", answer: { status, ...(code && { code }) } };
    expect(await pool.lease(presented, budget)).toMatchObject({
      kind: "unusable",
      fault: "status",
      answer: { status },
    });
    plane.refusal = undefined;
    await time.advance(6_000);
    expect((await pool.lease(presented, budget)).kind).toBe(want ? "leased" : "unauthorized");
  });

  test("where the only token's renewal is lost, the call learns of the fault and later ones are unauthorized", async () => {
    const { plane, pool } = setUp();
    const presented = await plane.issue("root");
    plane.fateOf = () => "answer_lost";
    expect(await pool.lease(presented, budget)).toMatchObject({ kind: "unusable", fault: "timeout" });
    plane.fateOf = () => "answered";
    expect(await pool.lease(presented, budget)).toEqual({ kind: "unauthorized" });
    expect(plane.presentedAgain).toEqual([]);
  });
});

describe("a given-back token", () => {
  test("serves again, and giving back twice does not double it", async () => {
    const { plane, pool } = setUp();
    const presented = await plane.issue("root");
    const first = await pool.lease(presented, budget);
    if (first.kind !== "leased") throw new Error("not leased");
    first.lease.giveBack();
    first.lease.giveBack();
    const tokens = await Promise.all(
      Array.from({ length: 9 }, async () => tokenOf(await pool.lease(presented, budget))),
    );
    expect(tokens).toContain(first.lease.token);
    expect(new Set(tokens).size).toBe(9);
  });
});

describe("the life of a pool", () => {
  test("an agent's token stays the handle after its own expiry while calls come", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("agent");
    for (let minute = 0; minute < 20; minute += 1) {
      expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
      await time.advance(4 * 60_000);
      if (minute === 13) break;
    }
  });

  test("idle for longer than its seconds, it ends and the expired token is unauthorized", async () => {
    const { time, plane, pool } = setUp({ idleSeconds: 300 });
    const presented = await plane.issue("agent");
    await pool.lease(presented, budget);
    await time.advance(299_000);
    expect(pool.size).toBe(1);
    await time.advance(2_000);
    expect(pool.size).toBe(0);
    expect(await pool.lease(presented, budget)).toEqual({ kind: "unauthorized" });
  });

  test("an expired token without a pool is unauthorized and leaves nothing behind", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("agent");
    await time.advance(61_000);
    expect(await pool.lease(presented, budget)).toEqual({ kind: "unauthorized" });
    expect(pool.size).toBe(0);
  });

  test("it ends with the session", async () => {
    const { time, plane, pool } = setUp({ sessionSeconds: 90 });
    const presented = await plane.issue("agent");
    for (let seconds = 0; seconds < 80; seconds += 10) {
      expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
      await time.advance(10_000);
    }
    await time.advance(10_000);
    expect(await pool.lease(presented, budget)).toEqual({ kind: "unauthorized" });
    const renewals = plane.renewals.length;
    await time.advance(60_000);
    expect(plane.renewals.length).toBe(renewals);
  });

  test("another session's name, or something that is no hop token, is unauthorized before anything is sent", async () => {
    const { plane, pool } = setUp();
    const presented = await plane.issue("root");
    expect(await pool.lease({ ...presented, sessionId: "other" }, budget)).toEqual({ kind: "unauthorized" });
    expect(await pool.lease({ ...presented, token: "nonsense" }, budget)).toEqual({ kind: "unauthorized" });
    expect(plane.renewals).toEqual([]);
    expect(pool.size).toBe(0);
    tokenOf(await pool.lease(presented, budget));
    expect(await pool.lease({ ...presented, sessionId: "other" }, budget)).toEqual({ kind: "unauthorized" });
  });
});

describe("a renewal refused on its merits", () => {
  const refused = (denyReason: "SESSION_REVOKED" | "AGENT_QUARANTINED") =>
    ({ kind: "refused", denyReason, answer: { status: 403, code: "renewal_refused" } }) as const;

  test.each(["SESSION_REVOKED", "AGENT_QUARANTINED"] as const)(
    "%s: every call still gets an unspent token, so that its deny is recorded",
    async (reason) => {
      const { plane, pool } = setUp();
      const presented = await plane.issue("root");
      plane.refusal = refused(reason);
      const calls = Array.from({ length: 10 }, async () => {
        const result = await pool.lease(presented, budget);
        const token = tokenOf(result);
        await settled();
        if (result.kind === "leased") result.lease.giveBack();
        return token;
      });
      expect(new Set(await Promise.all(calls))).toEqual(new Set([presented.token]));
    },
  );

  test("for good: nothing is renewed any more, and what expires is unauthorized", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("agent");
    tokenOf(await pool.lease(presented, budget));
    let asked = 0;
    plane.refusal = refused("SESSION_REVOKED");
    plane.fateOf = () => {
      asked += 1;
      return "answered";
    };
    await time.advance(50_000);
    expect(asked).toBe(1);
    const denied = await pool.lease(presented, budget);
    expect(denied.kind).toBe("leased");
    if (denied.kind === "leased") denied.lease.giveBack();
    await time.advance(20_000);
    expect(await pool.lease(presented, budget)).toEqual({ kind: "unauthorized" });
  });

  test("for now: once it is lifted, calls go on without the presented token having been spent", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("root");
    plane.refusal = refused("AGENT_QUARANTINED");
    const denied = await pool.lease(presented, budget);
    if (denied.kind === "leased") denied.lease.giveBack();
    plane.refusal = undefined;
    for (let call = 0; call < 20; call += 1) {
      expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
      await time.advance(1_000);
    }
    expect(plane.presentedAgain).toEqual([]);
  });
});

describe("bounds", () => {
  test("many tokens hold no more than the configured pools, and the longest unused goes first", async () => {
    const { time, plane, pool } = setUp({ maxPools: 10 });
    const kept = await plane.issue("root");
    await pool.lease(kept, budget);
    for (let n = 0; n < 50; n += 1) {
      await pool.lease(await plane.issue("root"), budget);
      await settled();
      tokenOf(await pool.lease(kept, budget));
      expect(pool.size).toBeLessThanOrEqual(10);
    }
    await time.advance(1_000);
    expect(plane.exchange(tokenOf(await pool.lease(kept, budget)))).toBe(true);
  });

  test("a pool that ran dry makes room before a live one does", async () => {
    const { plane, pool } = setUp({ maxPools: 2 });
    const kept = await plane.issue("root");
    tokenOf(await pool.lease(kept, budget));
    await settled();
    plane.fateOf = () => "answer_lost";
    await pool.lease(await plane.issue("root"), budget);
    plane.fateOf = () => "answered";
    tokenOf(await pool.lease(await plane.issue("root"), budget));
    expect(plane.exchange(tokenOf(await pool.lease(kept, budget)))).toBe(true);
  });

  test("tokens that verify nowhere push no live pool out", async () => {
    const { time, plane, pool } = setUp({ maxPools: 2 });
    const kept = await plane.issue("root");
    tokenOf(await pool.lease(kept, budget));
    const expired = await Promise.all(Array.from({ length: 20 }, () => plane.issue("agent")));
    await time.advance(61_000);
    for (const token of expired) expect(await pool.lease(token, budget)).toEqual({ kind: "unauthorized" });
    expect(plane.exchange(tokenOf(await pool.lease(kept, budget)))).toBe(true);
  });

  test("where every pool is busy, a further token is turned away and nothing of it is spent", async () => {
    const { plane, pool } = setUp({ maxPools: 1 });
    const [first, second] = [await plane.issue("root"), await plane.issue("root")];
    const [one, two] = await Promise.all([pool.lease(first, budget), pool.lease(second, budget)]);
    expect(one.kind).toBe("leased");
    expect(two).toEqual({ kind: "unusable", fault: "pool_full" });
    await settled();
    tokenOf(await pool.lease(second, budget));
  });

  test("a caller waits no longer than its deadline, and the renewal's tokens serve the next one", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("root");
    const { renew } = plane.source;
    let answer: () => void = () => undefined;
    Object.assign(plane.source, {
      renew: async (...asked: Parameters<typeof renew>) => {
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        return renew(...asked);
      },
    });
    const late = pool.lease(presented, { deadlineMs: 500 });
    const aborted = new AbortController();
    const left = pool.lease(presented, { deadlineMs: 5_000, signal: aborted.signal });
    await settled();
    aborted.abort();
    await time.advance(500);
    expect(await late).toEqual({ kind: "unusable", fault: "timeout" });
    expect(await left).toEqual({ kind: "unusable", fault: "aborted" });
    answer();
    await settled();
    expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
  });

  test("closing turns waiting calls away, ends every timer and refuses more", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("root");
    const waiting = pool.lease(presented, budget);
    const closing = pool.close();
    expect(await waiting).toEqual({ kind: "unusable", fault: "closed" });
    await closing;
    expect(time.pendingTimers).toBe(0);
    expect(await pool.lease(presented, budget)).toEqual({ kind: "unusable", fault: "closed" });
  });

  test("an agent key that cannot sign fails the call and spends nothing", async () => {
    const { plane, pool } = setUp();
    const presented = await plane.issue("root");
    const { renew } = plane.source;
    Object.assign(plane.source, { renew: () => Promise.reject(new Error("no key")) });
    await expect(pool.lease(presented, budget)).rejects.toThrow("no key");
    Object.assign(plane.source, { renew });
    expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
  });
});
