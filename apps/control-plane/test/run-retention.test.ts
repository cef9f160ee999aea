import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runRetention } from "../src/background/run-retention.ts";
import type { Retention } from "../src/ports/retention.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const hourMs = 3_600_000;

/** Retention with given results, and how often each step ran. */
function house(changes: Partial<Retention> = {}) {
  const done = { prepareMonths: 0, retire: 0 };
  const faults: unknown[] = [];
  const count = (act: keyof typeof done) => async () => {
    done[act]++;
    return changes[act]?.() ?? "done";
  };
  const retention: Retention = {
    prepareMonths: count("prepareMonths"),
    retire: count("retire"),
    lastDoneMs: changes.lastDoneMs ?? (async () => 1_000),
  };
  return { done, faults, keep: () => runRetention(retention, (error) => faults.push(error)) };
}

const broken = () => Promise.reject(new Error("the database cannot serve"));

describe("retention", () => {
  test("runs at the start and daily", async () => {
    const { done, keep } = house();
    await keep();
    expect(done).toEqual({ prepareMonths: 1, retire: 1 });
    await vi.advanceTimersByTimeAsync(23 * hourMs);
    expect(done).toEqual({ prepareMonths: 1, retire: 1 });
    await vi.advanceTimersByTimeAsync(2 * hourMs);
    expect(done).toEqual({ prepareMonths: 2, retire: 2 });
    await vi.advanceTimersByTimeAsync(24 * hourMs);
    expect(done).toEqual({ prepareMonths: 3, retire: 3 });
  });

  test("does not delay the start while it retires months", async () => {
    const { keep } = house({ retire: () => new Promise(() => {}) });
    expect((await keep()).lastHousekeepingMs()).toBeNull();
  });

  test.each<[string, Partial<Retention>]>([
    ["after a failed partition", { prepareMonths: broken }],
    ["after a failed retirement", { retire: broken }],
    ["while another process is busy", { retire: async () => "busy" }],
  ])("runs again within the hour %s, and does not stop the start", async (_, changes) => {
    const { done, faults, keep } = house(changes);
    await keep();
    await vi.advanceTimersByTimeAsync(hourMs);
    expect(done.prepareMonths).toBeGreaterThan(1);
    expect(done.retire).toBeGreaterThan(1);
    expect(faults.length > 0).toBe(Object.values(changes).includes(broken));
  });

  test("reports when any process last finished it", async () => {
    let lastMs: number | null = null;
    const keeper = await house({ lastDoneMs: async () => lastMs, retire: async () => "busy" }).keep();
    await vi.advanceTimersByTimeAsync(0);
    expect(keeper.lastHousekeepingMs()).toBeNull();
    lastMs = 5_000;
    await vi.advanceTimersByTimeAsync(hourMs);
    expect(keeper.lastHousekeepingMs()).toBe(5_000);
  });

  test("ends when it is closed, without a fault", async () => {
    const closing = Promise.withResolvers<"done">();
    const { done, faults, keep } = house({ retire: () => closing.promise });
    const keeper = await keep();
    keeper.close();
    closing.reject(new Error("the connection was closed"));
    await vi.advanceTimersByTimeAsync(48 * hourMs);
    expect(done).toEqual({ prepareMonths: 1, retire: 1 });
    expect(faults).toEqual([]);
  });
});
