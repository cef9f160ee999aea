import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { repeat } from "../src/background/repeat.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Repeats over these outcomes, one a second, and returns what was reported. */
async function reported(
  reports: "each" | "first",
  outcomes: readonly ("works" | "fails")[],
): Promise<readonly string[]> {
  const faults: string[] = [];
  let runs = 0;
  const run = async (): Promise<void> => {
    if (outcomes[runs++] === "fails") throw new Error(`run ${runs}`);
  };
  const loop = repeat(
    run,
    () => 1_000,
    (error) => faults.push((error as Error).message),
    reports,
  );
  await vi.advanceTimersByTimeAsync((outcomes.length - 1) * 1_000);
  loop.close();
  return faults;
}

describe("a loop", () => {
  test.each([
    ["each", ["run 1", "run 2", "run 4"]],
    ["first", ["run 1", "run 4"]],
  ] as const)("that reports %s of its faults continues after them", async (reports, want) => {
    expect(await reported(reports, ["fails", "fails", "works", "fails"])).toEqual(want);
  });

  test("reports nothing after its close, and does not run again", async () => {
    const faults: unknown[] = [];
    const run = vi.fn(() => Promise.reject(new Error("the pool is closed")));
    const loop = repeat(
      run,
      () => 1_000,
      (error) => faults.push(error),
      "each",
    );
    loop.close();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(run).toHaveBeenCalledTimes(1);
    expect(faults).toEqual([]);
  });
});
