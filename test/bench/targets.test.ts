import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Summary } from "./src/measure/statistics.ts";
import { targets } from "./src/report/target-table.ts";
import { judge } from "./src/report/targets.ts";

const summary = (median: number, clean = 5): Summary => ({ median, least: median, most: median, samples: 5, clean });

/** Every figure of the table, at one value. */
function everyFigure(value: number, clean = 5): Map<string, Summary> {
  const figures = new Map<string, Summary>();
  const note = (key: string) => {
    figures.set(key, summary(value, clean));
    return value;
  };
  for (const { ratio, ceiling } of targets.flatMap(({ comparisons }) => comparisons)) {
    ratio(note);
    ceiling?.(note);
  }
  return figures;
}

const resultOf = (id: number, figures: ReadonlyMap<string, Summary>) => {
  const found = judge(figures).find((one) => one.id === id);
  if (found === undefined) throw new Error(`there is no target ${id}`);
  return found;
};

test("all fifteen targets are judged, in order", () => {
  const ids = Array.from({ length: 15 }, (_, index) => index + 1);
  expect(targets.map(({ id }) => id)).toEqual(ids);
  expect(judge(new Map()).map(({ id }) => id)).toEqual(ids);
});

test("an unmeasured target has no ratio and is not met", () => {
  for (const { ratio, met } of judge(new Map())) expect({ ratio, met }).toEqual({ ratio: null, met: false });
});

test("the ratio of a target with several comparisons is the worst one", () => {
  const figures = everyFigure(1);
  figures.set("proxies/PEP/rate", summary(90));
  figures.set("proxies/nginx/rate", summary(100));
  figures.set("proxies/http-proxy-3/rate", summary(75));
  expect(resultOf(8, figures)).toMatchObject({ ratio: 1.2, target: 1.4, met: false });
  figures.set("proxies/http-proxy-3/rate", summary(30));
  expect(resultOf(8, figures)).toMatchObject({ ratio: 0.9, target: 0.55, met: true });
});

test("a target with a missing comparison is not met", () => {
  const figures = everyFigure(1);
  figures.set("proxies/PEP/rate", summary(1000));
  figures.delete("proxies/nginx/rate");
  expect(resultOf(8, figures)).toMatchObject({ ratio: null, met: false });
});

test("a ratio of disturbed samples is marked", () => {
  const [first] = resultOf(3, everyFigure(1, 2)).comparisons;
  expect(first).toMatchObject({ ratio: 1, clean: false });
});

describe("a skeleton's figure", () => {
  const skeletons = ["hop at 1/skeleton authorize/p50Ms", "hop at 32/skeleton/rate", "proxies/skeleton/rate"];
  const [, , proxy = ""] = skeletons;

  test("is given beside what another program reaches", () => {
    const ids = judge(everyFigure(1)).flatMap(({ id, ceiling }) => (ceiling === null ? [] : [id]));
    expect(ids).toEqual([3, 4, 5, 6, 7, 8, 9]);
  });

  test("is a ratio to the same reference, for the worst comparison", () => {
    const figures = everyFigure(1);
    figures.set("proxies/nginx/rate", summary(100));
    figures.set("proxies/http-proxy-3/rate", summary(20));
    figures.set("proxies/PEP/rate", summary(40));
    figures.set(proxy, summary(60));
    const { ceiling, comparisons } = resultOf(8, figures);
    expect([ceiling, ...comparisons.map((one) => one.ceiling)]).toEqual([0.6, 0.6, 3]);
  });

  test("does not change a target's ratio, and is null where it was not measured", () => {
    const judged = (figures: ReadonlyMap<string, Summary>) =>
      judge(figures).map(({ ratio, met, comparisons }) => [ratio, met, comparisons.map(({ clean }) => clean)]);
    const [disturbed, without] = [everyFigure(1), everyFigure(1)];
    for (const key of skeletons) {
      disturbed.set(key, summary(1_000, 0));
      without.delete(key);
    }
    expect(judged(disturbed)).toEqual(judged(everyFigure(1)));
    expect(judged(without)).toEqual(judged(everyFigure(1)));
    expect(resultOf(8, disturbed).comparisons[0]).toMatchObject({ ceiling: 1_000, isCeilingClean: false, clean: true });
    expect(resultOf(8, without).ceiling).toBeNull();
  });
});

test("telemetry's cost is what it adds, of the skeleton's hop", () => {
  const figures = everyFigure(1);
  figures.set("telemetry/on/cpu us", summary(530));
  figures.set("telemetry/off/cpu us", summary(500));
  figures.set("telemetry/skeleton/cpu us", summary(300));
  expect(resultOf(14, figures).ratio).toBeCloseTo(0.1);
});

test("a figure at the target meets it, one beyond does not", () => {
  fc.assert(
    fc.property(fc.double({ min: 0.01, max: 100, noNaN: true }), (rate) => {
      const figures = everyFigure(1);
      figures.set("hop at 32/hop/rate", summary(rate));
      expect(resultOf(4, figures).met).toBe(rate >= 1);
      figures.set("hop at 1/authorize/p50Ms", summary(rate));
      expect(resultOf(5, figures).met).toBe(rate <= 3.5);
    }),
  );
});
