import stringWidth from "string-width";
import { expect, test } from "vitest";
import { ageOf } from "../src/ages.ts";
import { cut, table } from "../src/table.ts";

const cellsOf = (...texts: readonly string[]) => texts.map((text) => ({ text }));
const wide = [
  cellsOf("agent", "target", "action"),
  cellsOf("planner", `mcp:files/${"x".repeat(200)}`, "5e6f7a8b9c0d"),
  cellsOf("日本語のエージェント", "http:ledger/read", "0b9c0d5e6f7a"),
];

test.each([40, 60, 80, 160])("no line is wider than a terminal of %d columns", (columns) => {
  for (const line of table(wide, columns)) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
});

test("only the widest columns are cut, and a cut shows", () => {
  const lines = table(wide, 80);
  expect(lines[1]).toMatch(/^planner .*x… {2}5e6f7a8b9c0d$/);
});

test("columns begin at one place, whatever the width of the characters", () => {
  const starts = table(wide).map((line) => stringWidth(line.slice(0, line.lastIndexOf("  "))));
  expect(new Set(starts.slice(1)).size).toBe(1);
});

test.each([
  ["👩‍👩‍👧‍👦 family", 4, "👩‍👩‍👧‍👦 …"],
  ["日本語", 4, "日…"],
  ["short", 5, "short"],
])("%s is cut at a character that people see", (text, width, expected) => {
  expect(cut(text, width)).toBe(expected);
});

test.each([
  [0, "0s"],
  [119, "119s"],
  [120, "2m"],
  [7_199, "119m"],
  [7_200, "2h"],
  [172_799, "47h"],
  [172_800, "2d"],
  [-30, "in 30s"],
  [-600, "in 10m"],
])("an instant %d seconds ago has the age %s", (seconds, age) => {
  const nowMs = Date.parse("2026-01-31T08:00:00.000Z");
  expect(ageOf(new Date(nowMs - seconds * 1_000).toISOString(), nowMs)).toBe(age);
});
