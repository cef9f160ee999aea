import { settled } from "@svc/test-support/test-time";
import { describe, expect, test } from "vitest";
import { budget, setUp, tokenOf } from "./support/pool-set-up.ts";

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

describe("a renewal brings as many tokens", () => {
  const countsOf = async (betweenCallsMs: number) => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("root");
    for (let call = 0; call < 40; call += 1) {
      expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
      await time.advance(betweenCallsMs);
    }
    return plane.renewals;
  };

  test("as one may, where calls come one after the other: seven of eight serve a call", async () => {
    const counts = await countsOf(10);
    expect(counts.slice(4).every((count) => count === 8)).toBe(true);
    expect(counts.length).toBeLessThanOrEqual(9);
  });

  test("as are likely to be used before they expire, where calls are rare", async () => {
    expect(Math.max(...(await countsOf(20_000)))).toBeLessThanOrEqual(4);
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
