import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import { runSealing } from "../src/background/run-sealing.ts";
import type { RecordSeals } from "../src/ports/record-seals.ts";

const now = Date.parse("2026-01-31T12:00:00Z");

/** Keeps sealing with these ports until something was told five times, or five passes were made. */
async function kept(seals: Partial<RecordSeals>) {
  const told: string[] = [];
  let passes = 0;
  const keeper = runSealing({
    seals: { seal: async () => "done", nowMs: async () => now, oldestUnsealedMs: async () => null, ...seals },
    clock: {
      nowMs: () => {
        passes++;
        return now;
      },
    },
    onFault: (error) => told.push(`fault: ${(error as Error).message}`),
    onBehind: () => told.push("behind"),
    onClockBehind: () => told.push("clock behind"),
    everyMs: 1,
  });
  await waitUntil("five passes", () => passes >= 5 || told.length >= 5);
  keeper.close();
  return { told: [...new Set(told)], oldestMs: keeper.oldestUnsealedMs() };
}

describe("sealing is kept up", () => {
  test.each<[string, Partial<RecordSeals>, readonly string[]]>([
    ["and says nothing where all is well", {}, []],
    ["by another process while this one looks on", { seal: async () => "busy" }, []],
    [
      "after a fault, which is told",
      {
        seal: async () => {
          throw new Error("no database");
        },
      },
      ["fault: no database"],
    ],
    ["and tells when rows wait for too long", { oldestUnsealedMs: async () => now - 600_001 }, ["behind"]],
    ["and does not where they have come just now", { oldestUnsealedMs: async () => now - 300_000 }, []],
    ["and tells when this clock is behind", { nowMs: async () => now + 30_001 }, ["clock behind"]],
    ["and does not where it is ahead", { nowMs: async () => now - 3_600_000 }, []],
  ])("%s", async (_name, seals, want) => {
    expect((await kept(seals)).told).toEqual(want);
  });

  test("and shows from when the oldest unsealed row is", async () => {
    expect((await kept({ oldestUnsealedMs: async () => 7 })).oldestMs).toBe(7);
    expect((await kept({})).oldestMs).toBeNull();
  });
});
