import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { changesSince, type KeptRun, keepRun, keptRuns, readHistory } from "./src/report/history.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bench-history-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (at: string, figures: Record<string, number> = {}, changes: Partial<KeptRun> = {}): KeptRun => ({
  at,
  commit: "0000000",
  machine: { cores: 2, model: "a machine", node: "v26.0.0" },
  quick: false,
  targets: [],
  figures,
  ...changes,
});

test("a run is appended, and the file is valid at any time", () => {
  const file = join(folder, "deep", "history.json");
  keepRun(file, run("first"));
  keepRun(file, run("second"));
  expect(readHistory(file).map(({ at }) => at)).toEqual(["first", "second"]);
  expect(readdirSync(join(folder, "deep"))).toEqual(["history.json"]);
});

test("the oldest run is removed beyond the limit", () => {
  const file = join(folder, "history.json");
  writeFileSync(file, JSON.stringify(Array.from({ length: keptRuns }, (_, index) => run(String(index)))));
  keepRun(file, run("newest"));
  const kept = readHistory(file);
  expect([kept.length, kept[0]?.at, kept.at(-1)?.at]).toEqual([keptRuns, "1", "newest"]);
});

test("a file that is no history is not overwritten", () => {
  const file = join(folder, "history.json");
  writeFileSync(file, '{"somebody": "else"}');
  expect(() => keepRun(file, run("first"))).toThrow("move it away");
  writeFileSync(file, "no JSON");
  expect(() => keepRun(file, run("first"))).toThrow();
});

test("a run is compared with the last one of its kind on the same machine type, largest change first", () => {
  const other = { cores: 64, model: "another", node: "v26.0.0" };
  const runs = [
    run("1", { a: 100, b: 100, c: 100 }),
    run("2", { a: 1 }, { machine: other }),
    run("3", { a: 1 }, { quick: true }),
  ];
  expect(changesSince(runs, run("4", { a: 110, b: 25, d: 5 }))).toEqual([
    ["b", 0.25],
    ["a", 1.1],
  ]);
  expect(changesSince([], run("4", { a: 1 }))).toEqual([]);
});
