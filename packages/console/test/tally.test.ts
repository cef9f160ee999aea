import type { DecisionCount } from "@svc/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { change, readBefore } from "../src/change.ts";
import { byReason, overTime, readTally, shareByScope, tallied } from "../src/tally.ts";
import { fakeReads } from "./fake-ports.ts";

const hourMs = 3_600_000;
const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);

const counted = (rows: readonly DecisionCount[]) =>
  readTally(
    { clock: { nowMs: () => nowMs }, reads: { ...fakeReads(), countDecisions: async () => rows } },
    24 * hourMs,
  );

const half = hourMs / 2;
const bucket = fc.integer({ min: 1, max: 48 }).map((back) => Math.floor(nowMs / half) * half - (back - 1) * half);
const row: fc.Arbitrary<DecisionCount> = fc.record({
  decision: fc.constantFrom("allow", "deny"),
  denyReason: fc.constantFrom("TAINT_BLOCKED", "TARGET_NOT_DECLARED"),
  enforced: fc.boolean(),
  taint: fc.constantFrom("trusted_internal", "untrusted_external"),
  scope: fc.constantFrom("a", "b", "c"),
  bucketStartMs: bucket,
  count: fc.integer({ min: 1, max: 50 }),
});
const allowsHaveNoReason = (rows: readonly DecisionCount[]): DecisionCount[] =>
  rows.map((one) => (one.decision === "allow" ? { ...one, denyReason: null } : one));
const sum = (figures: readonly number[]): number => figures.reduce((total, figure) => total + figure, 0);

test("every decision counts in one outcome of one bucket, in one scope, and each deny in one reason", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 40 }).map(allowsHaveNoReason), async (rows) => {
      const tally = await counted(rows);
      const series = overTime(tally);
      const of = (name: "allowed" | "denied" | "observed" | "tainted") => sum(series.map((bucket) => bucket[name]));
      expect(series.length).toBeLessThanOrEqual(49);
      expect(of("allowed") + of("denied") + of("observed")).toBe(tally.total);
      expect(sum(shareByScope(tally).map(({ total }) => total))).toBe(tally.total);
      expect(sum(shareByScope(tally).map((scope) => scope.observed))).toBe(of("observed"));
      expect(sum(byReason(tally.counts).map(({ count }) => count))).toBe(of("denied") + of("observed"));
      expect(of("tainted")).toBeLessThanOrEqual(tally.total);
    }),
  );
});

test("the part of a span before the counted decisions is left out, not shown as empty", async () => {
  const recent = {
    decision: "allow",
    denyReason: null,
    enforced: true,
    taint: "trusted_internal",
    scope: "a",
  } as const;
  const oldest = Math.floor(nowMs / half) * half - half;
  const tally = await counted([{ ...recent, bucketStartMs: oldest, count: tallied }]);
  expect(tally.isCut).toBe(true);
  expect(overTime(tally)[0]?.start).toBe(oldest / 1000);
});

test("a figure is compared with the same part of the span before, and with nothing where that is not counted whole", async () => {
  const asked: { readonly sinceMs: number; readonly untilMs?: number }[] = [];
  const ofBefore = async (count: number) => {
    const base = {
      decision: "allow",
      denyReason: null,
      enforced: true,
      taint: "trusted_internal",
      scope: "a",
    } as const;
    const rows = [{ ...base, bucketStartMs: 0, count }];
    const tally = await counted([{ ...rows[0], bucketStartMs: nowMs - hourMs } as DecisionCount]);
    const countDecisions = async (query: (typeof asked)[number]) => {
      asked.push(query);
      return rows;
    };
    return readBefore({ reads: { ...fakeReads(), countDecisions } }, tally, 24 * hourMs);
  };
  expect(await ofBefore(7)).toMatchObject([{ count: 7 }]);
  expect(asked[0]).toMatchObject({ sinceMs: nowMs - 48 * hourMs, untilMs: nowMs - 24 * hourMs });
  expect(await ofBefore(tallied)).toBeUndefined();
  const words = [
    change(12_000, 19),
    change(150, 100),
    change(50, 100),
    change(100, 100),
    change(5, 0),
    change(5, undefined),
  ];
  expect(words.map((markup) => String(markup ?? "").replaceAll(/<[^>]*>/g, ""))).toEqual([
    "before: 19",
    "50 % more than before",
    "50 % fewer than before",
    "before: 100",
    "before: 0",
    "",
  ]);
});
