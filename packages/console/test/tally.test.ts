import type { DecisionCount } from "@svc/core";
import fc from "fast-check";
import { expect, test } from "vitest";
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
