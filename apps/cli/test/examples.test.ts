import { existsSync } from "node:fs";
import { join } from "node:path";
import { requires } from "@svc/test-support";
import stringWidth from "string-width";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ExampleStack, openExampleStack } from "./example-stack.ts";
import { examplesOf, helpOf, leaves, readmeExamples } from "./printed-examples.ts";

/** Every command line that `--help` and the README print, typed as printed, against a real stack. */
const printed = [
  ...new Set([...(await leaves()).flatMap(({ command }) => examplesOf(helpOf(command))), ...readmeExamples()]),
];

/** What is not run here, and why. */
const notRun: Readonly<Record<string, string>> = {
  "svc decisions --follow --agent planner": "runs until Ctrl-C: record.test.ts",
  "svc init": "asks on a terminal: init-terminal.test.ts",
  ...Object.fromEntries(
    printed
      .filter((line) => /svc (?:login|context)/.test(line))
      .map((line) => [line, "keeps a bearer for the person who types it: contexts.test.ts"]),
  ),
  ...Object.fromEntries(
    printed
      .filter((line) => line.includes("svc mcp"))
      .map((line) => [line, "speaks MCP with the client that starts it: test/e2e/svc-mcp.test.ts"]),
  ),
  ...Object.fromEntries(
    printed
      .filter((line) => /svc audit (?:verify|export .*--to)/.test(line))
      .map((line) => [line, "reads a record that was sealed, as its auditor: audit-verify.test.ts"]),
  ),
  ...Object.fromEntries(
    printed
      .filter((line) => line.includes("svc enroll agent"))
      .map((line) => [line, "needs an ID token of an OpenID provider: test/e2e/enroll-command.test.ts"]),
  ),
  ...Object.fromEntries(
    printed
      .filter((line) => /svc approve \S/.test(line))
      .map((line) => [line, "needs a person who signs in: test/e2e/approve.test.ts"]),
  ),
};

/** Examples whose help documents another exit code than 0. */
const codes: Readonly<Record<string, number>> = {
  // Nothing waits for a review.
  'svc manifest approve planner --reason "reviewed in change 4712"': 1,
  // A command that cannot be undone needs a confirmation on a terminal, and there is none here.
  'svc agents revoke planner --reason "its key leaked"': 2,
};

/** Until Ctrl-C, in seconds: what prints anew on a terminal until it is stopped. */
const endsAfter = (line: string): number | undefined => (/^svc top(?! --once)/.test(line) ? 6 : undefined);

/** Their lines are data, a file or whole ids, and wider than a terminal. */
const isData = (line: string): boolean => /--json|-o (?:wide|yaml)|\||svc (?:upstreams|drift)|--manifest$/.test(line);

const widths = [80, 160];
let stacks: readonly ExampleStack[];

beforeAll(async () => {
  stacks = await Promise.all(widths.map(openExampleStack));
});
afterAll(() => Promise.all((stacks ?? []).map((stack) => stack.stop())));

/** A single word, such as a token or a path, is not broken. */
const isTooWide = (line: string, columns: number): boolean =>
  stringWidth(line) > columns && !line.split(/\s+/).some((word) => stringWidth(word) > columns / 2);

function neededBy(line: string) {
  if (line.includes("| jq")) return requires("jq");
  return line.includes("--isolate") ? requires("user namespaces") : { test };
}

for (const line of printed.filter((each) => notRun[each] === undefined)) {
  const { test: runnable } = neededBy(line);
  runnable(line, async () => {
    const typed = await Promise.all(widths.map((width, at) => stacks[at]?.typed(line, width, endsAfter(line))));
    typed.forEach((found, at) => {
      const { code, lines = [] } = found ?? {};
      expect(code, lines.join("\n")).toBe(codes[line] ?? 0);
      expect(lines.join("\n")).not.toMatch(/\n\s+at /);
      if (!isData(line)) expect(lines.filter((each) => isTooWide(each, widths[at] ?? 0))).toEqual([]);
    });
  });
}

test("every skipped example exists and has a reason", () => {
  expect(printed).toEqual(expect.arrayContaining(Object.keys(notRun)));
});

test("the examples that write a file write it", () => {
  for (const file of [
    "decisions.ndjson",
    "session.json",
    "drift.sarif",
    "svc_drift.prom",
    "proposed/planner.json",
    "reader-pep.yaml",
    "reader.yaml",
  ])
    for (const { folder } of stacks) expect(existsSync(join(folder, file)), file).toBe(true);
});
