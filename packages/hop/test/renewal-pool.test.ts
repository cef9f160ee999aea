import { settled } from "@svc/test-support/test-time";
import { describe, expect, test } from "vitest";
import { budget, setUp, tokenOf } from "./support/pool-set-up.ts";

describe("one presented token serves many calls", () => {
  test.each(["root", "agent"] as const)("20 sequential calls on a %s token, over minutes", async (kind) => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue(kind);
    for (let call = 0; call < 20; call += 1) {
      expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
      await time.advance(15_000);
    }
    expect(plane.presentedAgain).toEqual([]);
  });

  test.each([10, 100])("%i concurrent calls", async (count) => {
    const { plane, pool } = setUp();
    const presented = await plane.issue("agent");
    const leases = await Promise.all(Array.from({ length: count }, () => pool.lease(presented, budget)));
    const tokens = leases.map(tokenOf);
    expect(new Set(tokens).size).toBe(count);
    expect(tokens.every((token) => plane.exchange(token))).toBe(true);
    expect(plane.presentedAgain).toEqual([]);
    expect(Math.max(...plane.renewals)).toBeLessThanOrEqual(8);
  });
});

describe("a given-back token", () => {
  test("is leased again, and once only after it was given back twice", async () => {
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
  test("an agent's expired token is served while calls continue", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("agent");
    for (let minute = 0; minute < 20; minute += 1) {
      expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
      await time.advance(4 * 60_000);
      if (minute === 13) break;
    }
  });

  test.each(["root", "agent"] as const)(
    "an unspent sibling of a %s token is kept until the session's end, however long no call comes",
    async (kind) => {
      const { time, plane, pool } = setUp({ idleSeconds: 300, sessionSeconds: 7_200 });
      const presented = await plane.issue(kind);
      expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
      await time.advance(7_000_000);
      expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
      expect(plane.presentedAgain).toEqual([]);
    },
  );

  test("the same of a token with which calls were only decided", async () => {
    const { time, plane, pool } = setUp({ idleSeconds: 300, sessionSeconds: 7_200 });
    const presented = await plane.issue("agent");
    const result = await pool.leaseToDecide(presented, budget);
    if (result.kind === "leased") result.lease.giveBack();
    await time.advance(7_000_000);
    expect(plane.exchange(tokenOf(await pool.lease(presented, budget)))).toBe(true);
  });

  test("an idle pool renews the fewest tokens, and ends with the session", async () => {
    const { time, plane, pool } = setUp({ idleSeconds: 300, sessionSeconds: 3_600 });
    await pool.lease(await plane.issue("agent"), budget);
    await time.advance(400_000);
    const before = plane.renewals.length;
    await time.advance(600_000);
    expect(Math.max(...plane.renewals.slice(before))).toBe(2);
    expect(plane.renewals.length - before).toBeLessThanOrEqual(26);
    await time.advance(3_600_000);
    expect(pool.size()).toBe(0);
    expect(time.pendingTimers).toBe(0);
  });

  test("an expired token without a pool is unauthorized and creates none", async () => {
    const { time, plane, pool } = setUp();
    const presented = await plane.issue("agent");
    await time.advance(61_000);
    expect(await pool.lease(presented, budget)).toEqual({ kind: "unauthorized" });
    expect(pool.size()).toBe(0);
  });

  test("a pool ends with the session", async () => {
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

  test("another session's id, and a text that is no hop token, are unauthorized before anything is sent", async () => {
    const { plane, pool } = setUp();
    const presented = await plane.issue("root");
    expect(await pool.lease({ ...presented, sessionId: "other" }, budget)).toEqual({ kind: "unauthorized" });
    expect(await pool.lease({ ...presented, token: "nonsense" }, budget)).toEqual({ kind: "unauthorized" });
    expect(plane.renewals).toEqual([]);
    expect(pool.size()).toBe(0);
    tokenOf(await pool.lease(presented, budget));
    expect(await pool.lease({ ...presented, sessionId: "other" }, budget)).toEqual({ kind: "unauthorized" });
  });
});

describe("a token to decide with", () => {
  const decidedWith = async ({ pool }: ReturnType<typeof setUp>, presented: Parameters<typeof pool.lease>[0]) => {
    const result = await pool.leaseToDecide(presented, budget);
    if (result.kind !== "leased") throw new Error(`not leased: ${JSON.stringify(result)}`);
    return result.lease;
  };

  test("is the presented one, by any number of calls at once, and nothing is renewed for it", async () => {
    const started = setUp();
    const presented = await started.plane.issue("root");
    const leases = await Promise.all(Array.from({ length: 30 }, () => decidedWith(started, presented)));
    expect(new Set(leases.map(({ token }) => token))).toEqual(new Set([presented.token]));
    for (const lease of leases) lease.giveBack();
    await started.time.advance(60_000);
    expect(started.plane.renewals).toEqual([]);
    expect(started.plane.spent.size).toBe(0);
  });

  test("is not spent by another call's renewal before its decision is over", async () => {
    const started = setUp();
    const { plane, pool } = started;
    const presented = await plane.issue("root");
    const deciding = await decidedWith(started, presented);
    const spending = pool.lease(presented, budget);
    await settled();
    expect(plane.spent.size).toBe(0);
    deciding.giveBack();
    expect(plane.exchange(tokenOf(await spending))).toBe(true);
  });

  test("that does not verify ends its pool, and a later call begins anew", async () => {
    const started = setUp();
    const presented = await started.plane.issue("root");
    (await decidedWith(started, presented)).reject();
    await settled();
    expect((await decidedWith(started, presented)).token).toBe(presented.token);
  });

  test("after the first renewal is a sibling that may be spent", async () => {
    const started = setUp();
    const { plane, pool } = started;
    const presented = await plane.issue("root");
    plane.exchange(tokenOf(await pool.lease(presented, budget)));
    await settled();
    const first = await decidedWith(started, presented);
    expect(first).toMatchObject({ maySpend: true });
    expect(first.token).not.toBe(presented.token);
    expect(plane.exchange(first.token)).toBe(true);
  });
});
