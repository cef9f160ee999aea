import { expect, test } from "vitest";
import { median, quantile, summarize } from "./src/measure/statistics.ts";

test("the median is the one in the middle, or the mean of the two", () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([9, 1, 5, 7])).toBe(6);
  expect(median([])).toBeNaN();
});

test("a quantile is at most the last value", () => {
  const sorted = [1, 2, 3, 4];
  expect([0, 0.5, 0.99, 1].map((q) => quantile(sorted, q))).toEqual([1, 3, 4, 4]);
});

const sample = (value: number, isClean: boolean) => ({ value, isClean });

test("with enough clean samples the disturbed ones do not count", () => {
  const observed = [sample(10, true), sample(90, false), sample(11, true), sample(80, false), sample(12, true)];
  expect(summarize(observed)).toEqual({ median: 11, least: 10, most: 12, samples: 5, clean: 3 });
});

test("with too few clean samples all count, and the summary is marked", () => {
  const observed = [sample(10, true), sample(90, false), sample(20, false), sample(30, false)];
  expect(summarize(observed)).toEqual({ median: 25, least: 10, most: 90, samples: 4, clean: 1 });
});
