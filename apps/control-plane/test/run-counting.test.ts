import { waitUntil } from "@svc/test-support";
import { expect, test } from "vitest";
import { runCounting } from "../src/background/run-counting.ts";
import type { WouldBlockCounts } from "../src/ports/would-block-counts.ts";

/** Runs until so many pieces were asked for; their results in turn, then `done`. */
async function run(results: readonly (() => ReturnType<WouldBlockCounts["countNext"]>)[], pieces: number) {
  const reports: string[] = [];
  let asked = 0;
  const running = runCounting({
    counts: { countNext: async () => (await results[asked++]?.()) ?? "done" },
    onFault: (error) => reports.push((error as Error).message),
    everyMs: 1,
    pauseMs: 0,
  });
  await waitUntil("the pieces", () => asked >= pieces);
  running.close();
  return reports;
}

const more = async () => "more" as const;
const done = async () => "done" as const;
const busy = async () => "busy" as const;
const broken = () => Promise.reject(new Error("no database"));

test.each([
  ["continues while there is more, and later again", [more, more], 6, []],
  ["continues while another process counts", [busy, busy], 6, []],
  ["continues after a fault, and reports the first of several", [more, broken, broken, broken], 8, ["no database"]],
  ["reports a fault after a run without one", [broken, more, done, broken], 8, ["no database", "no database"]],
] as const)("counting %s", async (_which, results, pieces, reports) => {
  expect(await run(results, pieces)).toEqual(reports);
});

test("counting does not pause for long while there is more", async () => {
  const results = ["more", "more", "done"] as const;
  let asked = 0;
  const countNext = async () => results[asked++] ?? "done";
  const running = runCounting({ counts: { countNext }, onFault: () => {}, everyMs: 3_600_000, pauseMs: 0 });
  await waitUntil("the last piece", () => asked === results.length);
  running.close();
});

test("counting ends between two pieces when it is closed", async () => {
  const first = Promise.withResolvers<"more">();
  let asked = 0;
  const countNext = () => {
    asked++;
    return first.promise;
  };
  const running = runCounting({ counts: { countNext }, onFault: () => {}, everyMs: 1, pauseMs: 0 });
  await waitUntil("the first piece", () => asked === 1);
  running.close();
  first.resolve("more");
  await first.promise;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(asked).toBe(1);
});
