import { describe, expect, test } from "vitest";
import { budget, callWith, setUp } from "./support/pool-set-up.ts";
import type { Fate } from "./support/simulated-plane.ts";

describe("where answers bring the next token", () => {
  test("one renewal serves the calls of a minute, and the reserved tokens are kept alive beside them", async () => {
    const started = setUp();
    const presented = await started.plane.issue("agent");
    await callWith(started, presented, true);
    for (let n = 0; n < 25; n += 1) {
      expect(await callWith(started, presented, true)).toBe("one trip");
      await started.time.advance(1_000);
    }
    expect(started.plane.renewals).toHaveLength(1);
    await started.time.advance(10_000);
    expect(started.plane.renewals.slice(1)).toEqual([2]);
    expect(await callWith(started, presented, true)).toBe("one trip");
    expect(started.plane.presentedAgain).toEqual([]);
  });

  test.each([2, 5, 20])("%i calls at once soon need no renewal: as many tokens go round", async (count) => {
    const started = setUp();
    const presented = await started.plane.issue("root");
    const ways = () => Promise.all(Array.from({ length: count }, () => callWith(started, presented, true)));
    for (let round = 0; round < count; round += 1) await ways();
    const renewals = started.plane.renewals.length;
    expect(await ways()).toEqual(Array(count).fill("one trip"));
    expect(started.plane.renewals).toHaveLength(renewals);
    expect(started.plane.presentedAgain).toEqual([]);
  });

  test("an idle pool forgets what went round, and keeps the reserved tokens", async () => {
    const started = setUp({ idleSeconds: 300 });
    const { time, plane } = started;
    const presented = await plane.issue("root");
    const renewalsOfACall = async () => {
      const before = plane.renewals.length;
      expect(await callWith(started, presented, true)).toBe("one trip");
      return plane.renewals.length - before;
    };
    for (let n = 0; n < 2; n += 1) await Promise.all([1, 2, 3].map(() => callWith(started, presented, true)));
    await time.advance(299_000);
    expect(await renewalsOfACall()).toBe(0);
    await time.advance(301_000);
    expect(await renewalsOfACall()).toBe(1);
  });

  test.each<Fate>(["refused_connect", "answer_lost"])(
    "where none is free and its renewal ends with %s, a call is decided all the same",
    async (fate) => {
      const started = setUp();
      const { plane, pool } = started;
      const presented = await plane.issue("agent");
      for (let n = 0; n < 2; n += 1) await callWith(started, presented, false);
      plane.isReady = false;
      plane.fateOf = () => fate;
      expect(await pool.leaseToTake(presented, budget)).toMatchObject({ kind: "leased", lease: { maySpend: false } });
    },
  );
});

describe("where every call exchanges by itself", () => {
  test.each([10, 20_000])("nothing is renewed that no call waits for, with %i ms between calls", async (betweenMs) => {
    const started = setUp();
    const presented = await started.plane.issue("root");
    for (let n = 0; n < 40; n += 1) {
      const before = started.plane.renewals.length;
      const way = await callWith(started, presented, false);
      expect(way).toBe("two trips");
      await started.time.advance(betweenMs);
      expect(started.plane.renewals.length - before).toBeLessThanOrEqual(1);
    }
    expect(Math.max(...started.plane.renewals)).toBeLessThanOrEqual(4);
    expect(started.plane.renewals.length).toBeLessThanOrEqual(21);
    expect(started.plane.presentedAgain).toEqual([]);
  });
});
