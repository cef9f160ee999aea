import fc from "fast-check";
import { expect, test } from "vitest";
import type { Summary } from "./src/measure/statistics.ts";
import { plotsOf } from "./src/report/curves.ts";
import { drawPlot, ticksOf } from "./src/report/plot.ts";

const summary = (median: number): Summary => ({ median, least: median / 2, most: median * 2, samples: 5, clean: 5 });

test("every curve has its trial's subjects, in increasing order", () => {
  const figures = new Map([
    ["by connections/8/rate", summary(800)],
    ["by connections/1/rate", summary(100)],
    ["by rows/filtered page on 10^4/p50Ms", summary(0.4)],
    ["by rows/filtered page on 10^6/p50Ms", summary(0.5)],
    ["by body/hop 64 KiB/p50Ms", summary(2)],
    ["by body/hop 1 MiB/p50Ms", summary(9)],
  ]);
  const plots = plotsOf(figures);
  const points = (file: string) => plots.get(file)?.lines.map(({ name, points }) => [name, points.map(({ x }) => x)]);
  expect(points("connections.svg")).toEqual([["hop", [1, 8]]]);
  expect(points("rows.svg")).toEqual([["filtered page", [1e4, 1e6]]]);
  expect(points("bodies.svg")).toEqual([["hop", [65_536, 1_048_576]]]);
});

test("a series of one point is no curve", () => {
  expect(plotsOf(new Map([["by chain/1/p50Ms", summary(1)]])).size).toBe(0);
});

test("text is escaped, and nothing in a drawing is out of place or not a number", () => {
  const value = fc.double({ min: 1e-3, max: 1e9, noNaN: true });
  fc.assert(
    fc.property(fc.array(fc.tuple(value, value), { minLength: 1, maxLength: 8 }), (pairs) => {
      const points = pairs.map(([x, y]) => ({ x, y, least: y, most: y }));
      const svg = drawPlot({ title: "a < b & c", xTitle: "x", yTitle: "y", lines: [{ name: "l", points }] });
      expect(svg).toContain("<title>a &lt; b &amp; c</title>");
      expect(svg).not.toMatch(/NaN|Infinity|undefined/);
      for (const [, x, y] of svg.matchAll(/<circle cx="([^"]+)" cy="([^"]+)"/g)) {
        expect(Number(x)).toBeGreaterThanOrEqual(72);
        expect(Number(x)).toBeLessThanOrEqual(696);
        expect(Number(y)).toBeGreaterThanOrEqual(44);
        expect(Number(y)).toBeLessThanOrEqual(328);
      }
    }),
  );
});

test("ticks are within the range, and over many decades powers of ten", () => {
  expect(ticksOf([1, 256])).toEqual([1, 2, 5, 10, 20, 50, 100, 200]);
  expect(ticksOf([1_024, 1_073_741_824])).toEqual([1e4, 1e5, 1e6, 1e7, 1e8, 1e9]);
});
