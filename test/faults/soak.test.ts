import { expect, test } from "vitest";
import type { Sample } from "./src/soak/sample.ts";
import { trendsOf } from "./src/soak/trend.ts";

const steady: readonly Sample[] = Array.from({ length: 40 }, (_, index) => ({
  atSeconds: index,
  memoryMib: 500 + (index % 7),
  descriptors: 200 + (index % 5),
  connections: 30 + (index % 3),
  deadRowsPercent: 2,
}));

const grown = (samples: readonly Sample[]) =>
  trendsOf(samples).flatMap(({ measure, isFlat }) => (isFlat ? [] : measure));

test("a series that varies without growth is flat", () => {
  expect(grown(steady)).toEqual([]);
});

test("a series with a short burst is flat", () => {
  const bursts = steady.map((sample, index) =>
    index < 20 || index % 4 === 0 ? sample : { ...sample, memoryMib: 900, descriptors: 600 },
  );
  expect(grown(bursts)).toEqual([]);
});

test.each(["memoryMib", "descriptors", "connections", "deadRowsPercent"] as const)(
  "slow growth of %s is reported",
  (measure) => {
    const creeping = steady.map((sample, index) => ({
      ...sample,
      [measure]: sample[measure] * (1 + index / 10) + index,
    }));
    expect(grown(creeping)).toEqual([measure]);
  },
);
