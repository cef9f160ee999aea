import { expect, test } from "vitest";
import { type Watch, whenIdle } from "./src/machine/idle-gate.ts";
import { runTrial, type Subject } from "./src/measure/trial.ts";

/** A gate that reports the given shares, one for each sample, and zero between samples. */
function watchOf(shares: readonly number[], sampling: { current: boolean }): Watch {
  let next = 0;
  return {
    own: () => {},
    begin: () => {
      const during = { isSample: false };
      sampling.current = false;
      return () => {
        during.isSample = sampling.current;
        return during.isSample ? (shares[next++] ?? 0) : 0;
      };
    },
  };
}

const optionsOf = (watch: Watch) => ({
  rounds: 2,
  extraRounds: 2,
  watch,
  gate: { atMost: 0.05, waitMs: 0, patience: { leftMs: 0 }, lookMs: 0 },
  progress: () => {},
});

function setUp(names: readonly string[], shares: readonly number[] = []) {
  const sampling = { current: false };
  const sampled: string[] = [];
  const subjects = names.map(
    (name): Subject => ({
      name,
      async sample() {
        sampling.current = true;
        sampled.push(name);
        return { rate: sampled.length };
      },
    }),
  );
  return { subjects, sampled, options: optionsOf(watchOf(shares, sampling)) };
}

test("subjects take turns, and the order turns with every round", async () => {
  const { subjects, sampled, options } = setUp(["a", "b"]);
  const figures = await runTrial({ name: "t", subjects }, options);
  expect(sampled).toEqual(["a", "b", "b", "a"]);
  expect(figures.get("t/a/rate")).toMatchObject({ median: 2.5, samples: 2, clean: 2 });
});

test("a disturbed round is measured again, and its samples are marked", async () => {
  const { subjects, sampled, options } = setUp(["a", "b"], [0, 0.4]);
  const figures = await runTrial({ name: "t", subjects }, options);
  expect(sampled).toHaveLength(6);
  expect(figures.get("t/b/rate")).toMatchObject({ samples: 3, clean: 2 });
  expect(figures.get("t/b/foreign")).toMatchObject({ most: 0.4 });
});

test("on a machine that is never idle the rounds end too", async () => {
  const { subjects, sampled, options } = setUp(["a"], Array(10).fill(0.9));
  const figures = await runTrial({ name: "t", subjects }, options);
  expect(sampled).toHaveLength(4);
  expect(figures.get("t/a/rate")).toMatchObject({ samples: 4, clean: 0 });
});

test("waiting for an idle machine uses up the run's total wait", async () => {
  const busy: Watch = { own: () => {}, begin: () => () => 0.9 };
  const patience = { leftMs: 20 };
  const waited: number[] = [];
  const options = {
    atMost: 0.05,
    waitMs: 60_000,
    patience,
    lookMs: 5,
    onWait: (foreign: number) => waited.push(foreign),
  };
  await whenIdle(busy, options);
  expect(patience.leftMs).toBeLessThanOrEqual(0);
  expect(waited.length).toBeGreaterThan(0);
  waited.length = 0;
  await whenIdle(busy, options);
  expect(waited).toEqual([]);
});
