import fc from "fast-check";
import { expect, test } from "vitest";
import { memoryReplayStore } from "../src/index.ts";

function setUp(capacity: number) {
  const clock = { wall: 1_000_000, monotonic: 0 };
  const store = memoryReplayStore({ capacity, now: () => clock.wall, monotonicMs: () => clock.monotonic });
  const pass = (ms: number) => {
    clock.wall += ms;
    clock.monotonic += ms;
  };
  return { clock, store, pass, expiry: (inMs: number) => (clock.wall + inMs) / 1000 };
}

test("a transaction is admitted once until it expires", () => {
  const { store, pass, expiry } = setUp(10);
  const expiresAt = expiry(65_000);
  expect(store.admitOnce("a", expiresAt)).toBe(true);
  pass(64_999);
  expect(store.admitOnce("a", expiresAt)).toBe(false);
  expect(store.admitOnce("b", expiresAt)).toBe(true);
});

test("a full store throws until transactions expire", () => {
  const { store, pass, expiry } = setUp(2);
  store.admitOnce("a", expiry(10_000));
  store.admitOnce("b", expiry(20_000));
  expect(() => store.admitOnce("c", expiry(20_000))).toThrow(RangeError);
  pass(10_000);
  expect(store.admitOnce("c", expiry(20_000))).toBe(true);
});

test("a step of the wall clock drops no transaction", () => {
  const { clock, store, expiry } = setUp(2);
  const expiresAt = expiry(65_000);
  store.admitOnce("a", expiresAt);
  clock.wall += 3_600_000;
  expect(store.admitOnce("b", expiry(65_000))).toBe(true);
  clock.wall -= 3_600_000;
  expect(store.admitOnce("a", expiresAt)).toBe(false);
});

test("in any order of transactions, none is admitted twice before it expires", () => {
  const ask = fc.record({ txn: fc.constantFrom("a", "b", "c", "d"), waitMs: fc.integer({ min: 0, max: 30_000 }) });
  fc.assert(
    fc.property(fc.array(ask), (asks) => {
      const { clock, store, pass, expiry } = setUp(100);
      const admittedUntil = new Map<string, number>();
      for (const { txn, waitMs } of asks) {
        pass(waitMs);
        const isLive = (admittedUntil.get(txn) ?? 0) > clock.wall;
        const isFirst = store.admitOnce(txn, expiry(65_000));
        if (isLive) expect(isFirst).toBe(false);
        if (isFirst) admittedUntil.set(txn, clock.wall + 65_000);
      }
    }),
  );
});
