import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { partsOf } from "../src/postgres/would-block/span-parts.ts";

const lengthMs = { slice: 600_000, hour: 3_600_000, day: 86_400_000 } as const;
const isAligned = (grain: "month" | keyof typeof lengthMs, ms: number | undefined): boolean => {
  if (ms === undefined) return true;
  const { getUTCDate } = Date.prototype;
  return grain === "month"
    ? ms % lengthMs.day === 0 && getUTCDate.call(new Date(ms)) === 1
    : ms % lengthMs[grain] === 0;
};

/** On both sides of 1970, near the starts of buckets and anywhere. */
const moment = fc
  .tuple(
    fc.oneof(
      fc.constantFrom("2026-01-01T00:00:00Z", "2024-02-29T00:00:00Z", "2026-03-01T07:00:00Z", "1969-12-31T23:50:00Z"),
      fc
        .date({ min: new Date("0050-01-01T00:00:00Z"), max: new Date("2100-01-01T00:00:00Z"), noInvalidDate: true })
        .map((date) => date.toISOString()),
    ),
    fc.constantFrom(-1, 0, 1, 599_999, 600_000),
  )
  .map(([time, offset]) => Date.parse(time) + offset);
const bound = fc.option(moment, { nil: undefined });

const isWithin = (ms: number, { sinceMs = -Infinity, untilMs = Infinity }): boolean => sinceMs <= ms && ms < untilMs;

describe("a span", () => {
  test("is covered by its parts, each moment once", () => {
    fc.assert(
      fc.property(bound, bound, fc.array(moment), (sinceMs, untilMs, others) => {
        const { whole, partial } = partsOf({ sinceMs, untilMs });
        const parts = [...whole, ...partial];
        const bounds = [sinceMs, untilMs, ...parts.flatMap((part) => [part.sinceMs, part.untilMs])];
        const near = bounds.flatMap((ms) => (ms === undefined ? [] : [ms - 1, ms, ms + 1]));
        for (const ms of [...near, ...others]) {
          const found = parts.filter((part) => isWithin(ms, part));
          expect(found.length).toBe(isWithin(ms, { sinceMs, untilMs }) ? 1 : 0);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("has at most seven parts of whole buckets, and two within a slice", () => {
    fc.assert(
      fc.property(bound, bound, (sinceMs, untilMs) => {
        const { whole, partial } = partsOf({ sinceMs, untilMs });
        expect(whole.length).toBeLessThanOrEqual(7);
        expect(partial.length).toBeLessThanOrEqual(2);
        for (const part of whole) {
          expect(isAligned(part.grain, part.sinceMs) && isAligned(part.grain, part.untilMs)).toBe(true);
        }
        for (const part of partial) {
          expect(part.sliceMs % lengthMs.slice === 0).toBe(true);
          expect(part.sliceMs <= part.sinceMs && part.untilMs <= part.sliceMs + lengthMs.slice).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("without bounds is all months", () => {
    expect(partsOf({})).toEqual({ whole: [{ grain: "month" }], partial: [] });
  });

  test("reads the coarsest buckets that fit", () => {
    const [since, until] = ["2026-01-30T22:35:00Z", "2026-03-02T01:05:00Z"].map((time) => Date.parse(time));
    const { whole, partial } = partsOf({ sinceMs: since, untilMs: until });
    const shown = whole.map(({ grain, sinceMs = 0, untilMs = 0 }) => [grain, (untilMs - sinceMs) / 60_000]);
    expect(shown.toSorted()).toEqual(
      [
        ["slice", 20],
        ["hour", 60],
        ["day", 1_440],
        ["month", 28 * 1_440],
        ["day", 1_440],
        ["hour", 60],
      ].toSorted(),
    );
    expect(partial.map(({ sinceMs, untilMs }) => (untilMs - sinceMs) / 60_000)).toEqual([5, 5]);
  });
});
