import { settled } from "@svc/test-support/test-time";
import { describe, expect, test } from "vitest";
import { budget, setUp, tokenOf } from "./support/pool-set-up.ts";

describe("the bounds of a pool", () => {
  test("there are no more pools than configured, and the one unused for longest is ended first", async () => {
    const { time, plane, pool } = setUp({ maxPools: 10 });
    const kept = await plane.issue("root");
    await pool.lease(kept, budget);
    for (let n = 0; n < 50; n += 1) {
      await pool.lease(await plane.issue("root"), budget);
      await settled();
      tokenOf(await pool.lease(kept, budget));
      expect(pool.size()).toBeLessThanOrEqual(10);
    }
    await time.advance(1_000);
    expect(plane.exchange(tokenOf(await pool.lease(kept, budget)))).toBe(true);
  });

  test("tokens of which nothing was spent never end a pool that lives", async () => {
    const { plane, pool } = setUp({ maxPools: 2 });
    const kept = await plane.issue("root");
    expect(plane.exchange(tokenOf(await pool.lease(kept, budget)))).toBe(true);
    await settled();
    for (let n = 0; n < 20; n += 1) {
      const result = await pool.leaseToDecide(await plane.issue("root"), budget);
      if (result.kind === "leased") result.lease.giveBack();
      await settled();
    }
    expect(plane.exchange(tokenOf(await pool.lease(kept, budget)))).toBe(true);
  });

  test("a dry pool is ended before a live one", async () => {
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

  test("tokens that do not verify never end a live pool", async () => {
    const { time, plane, pool } = setUp({ maxPools: 2 });
    const kept = await plane.issue("root");
    tokenOf(await pool.lease(kept, budget));
    const expired = await Promise.all(Array.from({ length: 20 }, () => plane.issue("agent")));
    await time.advance(61_000);
    for (const token of expired) expect(await pool.lease(token, budget)).toEqual({ kind: "unauthorized" });
    expect(plane.exchange(tokenOf(await pool.lease(kept, budget)))).toBe(true);
  });

  test("while every pool is busy, a further token is rejected and not spent", async () => {
    const { plane, pool } = setUp({ maxPools: 1 });
    const [first, second] = [await plane.issue("root"), await plane.issue("root")];
    const [one, two] = await Promise.all([pool.lease(first, budget), pool.lease(second, budget)]);
    expect(one.kind).toBe("leased");
    expect(two).toEqual({ kind: "unusable", fault: "pool_full" });
    await settled();
    tokenOf(await pool.lease(second, budget));
  });

  test("a caller waits until its deadline only, and the renewal's tokens serve the next caller", async () => {
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

  test("closing rejects waiting and later calls and ends every timer", async () => {
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
