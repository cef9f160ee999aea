import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { judge, type Outcome } from "./src/mutations/judge.ts";
import { isNamed, readReport } from "./src/mutations/report.ts";
import { replaceOnce } from "./src/mutations/scratch.ts";

test.each([
  ["group > time > %s", "group > time > at its exp", true],
  ["time > %s", "group > time > at its exp", true],
  ["time > %s", "group > bedtime > at its exp", false],
  ["a %s token whose %s is %j", 'a hop token whose act is {"sub":"x"}', true],
  ["%.30s is not bound: %s", "[1] is not bound: not_object", true],
  ["$name: $status", "x: rejected", true],
  ["is (once) the first", "group > is (once) the first", true],
  ["is the first", "is the first, and more", false],
])("%j names %j: %s", (name, fullName, want) => expect(isNamed(fullName, name)).toBe(want));

describe("a removed control", () => {
  const mutation = {
    name: "x",
    file: "x.ts",
    text: "a",
    replacement: "b",
    killedBy: { file: "x.test.ts", name: "%s is refused" },
  };
  const passed = { passed: ["a is refused", "b is refused", "other"], failed: [] };
  test.each<
    [string, typeof passed | { passed: string[]; failed: string[] }, { passed: string[]; failed: string[] }, Outcome]
  >([
    ["and noticed by the named test", passed, { passed: ["a is refused"], failed: ["b is refused"] }, "killed"],
    ["and noticed by another test alone", passed, { passed: ["a is refused"], failed: ["other"] }, "survived"],
    ["and no test failed", passed, passed, "survived"],
    ["so that nothing ran any more", passed, { passed: [], failed: [] }, "unproven"],
    [
      "from under a test that fails anyway",
      { passed: [], failed: ["a is refused"] },
      { passed: [], failed: ["a is refused"] },
      "unproven",
    ],
    [
      "from under a test that did not run before",
      { passed: ["other"], failed: [] },
      { passed: [], failed: ["a is refused"] },
      "unproven",
    ],
  ])("%s is %s", (_name, whole, mutated, want) => expect(judge(mutation, whole, mutated)).toBe(want));
});

test.each([
  ["one", "1 one", "1 two"],
  ["$&", "1 $&", "1 two"],
])("%j is replaced literally", (text, source, want) => expect(replaceOnce(source, text, "two")).toBe(want));
test.each(["two", "one one"])("in %j nothing is replaced, since the text does not occur exactly once", (source) =>
  expect(() => replaceOnce(source, "one", "two")).toThrow(/not once/),
);

describe("a report", () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-report-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  test("names each test by its groups and its title", () => {
    const file = join(folder, "report.json");
    const result = (title: string, status: string) => ({ ancestorTitles: ["", "group"], title, status });
    const testResults = [{ assertionResults: [result("a", "passed"), result("b", "failed"), result("c", "skipped")] }];
    writeFileSync(file, JSON.stringify({ testResults }));
    expect(readReport(file)).toEqual({ passed: ["group > a"], failed: ["group > b"] });
  });

  test("that does not exist has no tests", () => {
    expect(readReport(join(folder, "none.json"))).toEqual({ passed: [], failed: [] });
  });
});
