import { waitUntil } from "@svc/test-support";
import { describe, expect, test } from "vitest";
import { runSealing } from "../src/background/run-sealing.ts";
import { type RecordSeals, SealsUnproven } from "../src/ports/record-seals.ts";

const now = Date.parse("2026-01-31T12:00:00Z");

/** Seals with these ports until five reports or five passes were made. */
async function kept(seals: Partial<RecordSeals>) {
  const reports: string[] = [];
  let passes = 0;
  const keeper = runSealing({
    seals: {
      seal: async () => "done",
      nowMs: async () => now,
      oldestUnsealedMs: async () => null,
      unproven: () => [],
      ...seals,
    },
    clock: {
      nowMs: () => {
        passes++;
        return now;
      },
    },
    onFault: (error) => reports.push(`fault: ${(error as Error).message}`),
    onBehind: () => reports.push("behind"),
    onClockBehind: () => reports.push("clock behind"),
    onUnproven: ({ message }) => reports.push(`unproven: ${message.slice(0, 6)}`),
    everyMs: 1,
  });
  await waitUntil("five passes", () => passes >= 5 || reports.length >= 5);
  keeper.close();
  return { reports: [...new Set(reports)], oldestMs: keeper.oldestUnsealedMs(), areProven: keeper.sealsAreProven() };
}

describe("sealing", () => {
  test.each<[string, Partial<RecordSeals>, readonly string[]]>([
    ["reports nothing while all rows are sealed in time", {}, []],
    ["continues while another process seals", { seal: async () => "busy" }, []],
    [
      "reports a fault and continues",
      {
        seal: async () => {
          throw new Error("no database");
        },
      },
      ["fault: no database"],
    ],
    ["reports rows that wait too long", { oldestUnsealedMs: async () => now - 600_001 }, ["behind"]],
    ["does not report new rows", { oldestUnsealedMs: async () => now - 300_000 }, []],
    ["reports a clock that is behind", { nowMs: async () => now + 30_001 }, ["clock behind"]],
    ["reports rows that are no seals", { unproven: () => [7, 9] }, ["unproven: 2 rows"]],
    [
      "reports a table of seals without any",
      {
        seal: async () => {
          throw new SealsUnproven([1]);
        },
      },
      ["unproven: 1 rows"],
    ],
    ["does not report a clock that is ahead", { nowMs: async () => now - 3_600_000 }, []],
  ])("%s", async (_name, seals, want) => {
    expect((await kept(seals)).reports).toEqual(want);
  });

  test.each<[string, Partial<RecordSeals>, boolean]>([
    ["while the newest seal is", {}, true],
    ["after another row", { unproven: () => [7] }, false],
    ["without any", { seal: () => Promise.reject(new SealsUnproven([1])) }, false],
  ])("shows whether the newest seal is this service's: %s", async (_name, seals, areProven) => {
    expect((await kept(seals)).areProven).toBe(areProven);
  });

  test("returns the time of the oldest unsealed row", async () => {
    expect((await kept({ oldestUnsealedMs: async () => 7 })).oldestMs).toBe(7);
    expect((await kept({})).oldestMs).toBeNull();
  });
});
