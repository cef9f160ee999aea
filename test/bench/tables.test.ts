import { expect, test } from "vitest";
import type { Summary } from "./src/measure/statistics.ts";
import { readOptions } from "./src/options.ts";
import { writeCpu, writeTables, writeTargets } from "./src/report/tables.ts";
import { judge } from "./src/report/targets.ts";

const summary = (median: number, clean = 5): Summary => ({
  median,
  least: median - 1,
  most: median + 1,
  samples: 5,
  clean,
});

test("a table shows medians with their spread, clean samples, and the largest disturbance", () => {
  const figures = new Map([
    ["hop at 1/hop/rate", summary(700)],
    ["hop at 1/a/b/rate", summary(9)],
    ["hop at 1/hop/foreign", { ...summary(0, 4), most: 0.12 }],
  ]);
  const table = writeTables(figures);
  expect(table).toContain("## hop at 1");
  expect(table).toMatch(/\| hop +\| 700 \(699-701\) +\| 4\/5 +\| 12 % +\|/);
  expect(table).toMatch(/\| a\/b +\| 9 \(8-10\)/);
});

test("processor time is shown for each process", () => {
  const figures = new Map([
    ["hop at 32/hop/cpu pep us", summary(120)],
    ["hop at 32/hop/cpu control plane us", summary(260)],
  ]);
  expect(writeCpu(figures)).toContain("pep 120, control plane 260");
  expect(writeCpu(new Map())).toBe("");
});

test("a target is shown with each comparison; an unmeasured one is named", () => {
  const figures = new Map([
    ["proxies/PEP/rate", summary(80)],
    ["proxies/nginx/rate", summary(100, 1)],
  ]);
  const table = writeTargets(judge(figures));
  expect(table).toMatch(/PEP \/ nginx +\| 0\.8 +\| at least 0\.55 +\| met, disturbed/);
  expect(table).toMatch(/PEP \/ http-proxy-3 +\| not measured/);
  const withSkeleton = new Map([...figures, ["proxies/skeleton/rate", summary(95)]]);
  expect(writeTargets(judge(withSkeleton))).toMatch(/\| met, disturbed +\| 0\.95, disturbed +\|/);
});

test("without a part all are measured, and an unknown part is refused with the list of parts", () => {
  expect(readOptions([])).toMatchObject({ parts: ["hop", "peers", "curves"], isQuick: false });
  expect(readOptions(["peers", "--quick", "--json"])).toMatchObject({ parts: ["peers"], isQuick: true, json: true });
  expect(() => readOptions(["hops"])).toThrow(
    "there is no part hops: try hop, peers, curves, telemetry, push, against or agentdojo",
  );
  expect(readOptions(["--help"])).toBeUndefined();
});
