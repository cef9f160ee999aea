import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import * as actions from "@actions/core";
import { createMetrics } from "@svc/telemetry";
import { parse as parseJunit, type TestSuites } from "junit2json";
import { describe, expect, test, vi } from "vitest";
import { parseDocument } from "yaml";
import { driftMetrics, driftResults, reportFormats, writeReport } from "../src/index.ts";
import { expectedWords, summaryWords, undeclaredWords, unexercisedWords } from "../src/report/words.ts";
import { drifting, passing } from "./support/reports.ts";

test.each(reportFormats)("%s names each finding, and ends with a line break", (format) => {
  const text = writeReport(format, drifting);
  expect(text).toMatch(/TARGET_NOT_DECLARED[\s\S]*\n$/);
  expect(text).toContain("http:mail/send");
  expect(text).toContain("http:mail/shred");
  expect(text).toContain("run r has no end");
  expect(text).toContain("planner");
});

test.each(reportFormats)("%s of a pass names no finding", (format) => {
  expect(writeReport(format, passing)).not.toMatch(/::error|::warning|<failure|<error|"level"|undeclared: |error: /);
});

test("text ends with the verdict", () => {
  const lines = writeReport("text", drifting).trimEnd().split("\n");
  expect(lines.at(-1)).toBe(
    "error: 3 edges in 9 events of 2 runs, 2 undeclared, 1 denied as expected, 1 never exercised, 4 lost events",
  );
  expect(lines[1]).toBe(
    'undeclared: human > planner -> "http:mail/send" ("mail", scope "expenses"): TARGET_NOT_DECLARED, 2 times. Declare it.',
  );
});

test("text is one line for each finding, whatever names an agent used", () => {
  expect(writeReport("text", drifting).trimEnd().split("\n")).toHaveLength(6);
});

test("json is the whole report in snake_case", () => {
  expect(JSON.parse(writeReport("json", drifting))).toMatchObject({
    result: "error",
    summary: { edges: 3, lost_events: 4 },
    undeclared: [
      {
        edge: { chain: ["planner"], target_kind: "tool", data_class: "mail", seen_at: { line: 7 } },
        reason: "TARGET_NOT_DECLARED",
        consentable_scopes: [],
        manifest_file: "m/planner.yaml",
      },
      {},
    ],
    errors: [{ kind: "run_unended", file: "traces/2.jsonl" }],
    warnings: [{ caller: null, target: "planner", data_class: null }],
  });
});

test("a JUnit parser reads one case for each finding, whatever names an agent used", async () => {
  const findings = drifting.undeclared.length;
  const counts = { tests: 5, failures: findings, errors: 1, skipped: 1 };
  const read = (await parseJunit(writeReport("junit", drifting))) as TestSuites;
  expect(read).toMatchObject({ ...counts, testsuite: [{ name: "svc drift", ...counts }] });
  const cases = read.testsuite?.[0]?.testcase ?? [];
  expect(cases.map(({ classname }) => classname)).toEqual([
    "svc.drift.error",
    "svc.drift.undeclared",
    "svc.drift.undeclared",
    "svc.drift.expected",
    "svc.drift.unexercised",
  ]);
  expect(cases[0]?.error).toEqual([{ type: "run_unended", message: "traces/2.jsonl: run r has no end" }]);
  expect(cases[2]?.failure?.[0]?.message).toContain(JSON.stringify(drifting.undeclared[1]?.edge.target));
  // XML 1.0 section 2.3: no "<" in an attribute's value, which this parser would accept.
  expect(writeReport("junit", drifting)).not.toMatch(/="[^"]*</);
  expect(await parseJunit(writeReport("junit", passing))).toMatchObject({ tests: 1, failures: 0, errors: 0 });
});

test("GitHub annotations are the commands that GitHub's own toolkit writes", () => {
  const written: string[] = [];
  const output = vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0);
  const [error] = drifting.errors;
  const [declarable, hostile] = drifting.undeclared;
  const [expected] = drifting.expectedDenials;
  const [unexercised] = drifting.warnings;
  if (!error || !declarable || !hostile || !expected || !unexercised) throw new Error("the report has one of each");
  actions.error(error.message, { title: "drift: run_unended", file: "traces/2.jsonl" });
  actions.error(undeclaredWords(declarable), { title: "drift: TARGET_NOT_DECLARED", file: "m/planner.yaml" });
  actions.error(undeclaredWords(hostile), {
    title: "drift: TARGET_NOT_DECLARED",
    file: "traces/1.jsonl",
    startLine: 7,
  });
  actions.notice(expectedWords(expected), {
    title: "drift: expected denial",
    file: "traces/1.jsonl",
    startLine: 7,
  });
  actions.warning(unexercisedWords(unexercised), { title: "drift: never exercised" });
  actions.notice(summaryWords(drifting), { title: "drift" });
  output.mockRestore();
  expect(commandsOf(writeReport("github", drifting))).toEqual(commandsOf(written.join("")));
});

/** GitHub reads the properties of a command in any order. */
const commandsOf = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => {
      const [, name = "", properties = "", message = ""] = /^::(\w+) (.*?)::(.*)$/.exec(line) ?? [];
      return { name, properties: properties.split(",").sort(), message };
    });

describe("sarif", () => {
  const at = (uri: string) => ({ uri, uriBaseId: "%SRCROOT%" });
  const { runs, version } = JSON.parse(writeReport("sarif", drifting));

  test("every result names a rule that is listed", () => {
    expect(version).toBe("2.1.0");
    const { rules } = runs[0].tool.driver;
    expect(runs[0].results).toHaveLength(5);
    for (const { ruleId, ruleIndex } of runs[0].results) expect(rules[ruleIndex].id).toBe(ruleId);
  });

  test("a result is at the place to change", () => {
    expect(
      runs[0].results.map(({ level, locations: [at] = [] }: { level: string; locations?: object[] }) => [level, at]),
    ).toEqual([
      ["error", { physicalLocation: { artifactLocation: at("traces/2.jsonl") } }],
      ["error", { physicalLocation: { artifactLocation: at("m/planner.yaml") } }],
      ["error", { physicalLocation: { artifactLocation: at("traces/1.jsonl"), region: { startLine: 7 } } }],
      ["none", { physicalLocation: { artifactLocation: at("traces/1.jsonl"), region: { startLine: 7 } } }],
      ["note", undefined],
    ]);
  });

  test.each([
    ["below the working directory", resolve("m/ä b.yaml"), at("m/%C3%A4%20b.yaml")],
    ["with detours", "./x/../m/a.yaml", at("m/a.yaml")],
    ["whose name begins with dots", "..m/a.yaml", at("..m/a.yaml")],
    ["elsewhere", "/elsewhere/m.yaml", { uri: "file:///elsewhere/m.yaml" }],
    ["beside the working directory", "../m.yaml", { uri: pathToFileURL(resolve("../m.yaml")).href }],
  ])("a file %s is named as code scanning finds it", (_where, manifestFile, artifactLocation) => {
    const undeclared = drifting.undeclared.map((one) => ({ ...one, manifestFile }));
    const { results } = JSON.parse(writeReport("sarif", { ...drifting, undeclared })).runs[0];
    expect(results).toContainEqual(
      expect.objectContaining({ locations: [{ physicalLocation: { artifactLocation } }] }),
    );
  });

  test("a run that proves nothing is not reported as successful", () => {
    expect(runs[0].invocations).toEqual([{ executionSuccessful: false }]);
  });
});

test.each(driftResults)("the metrics of %s are those of the telemetry contract, series by series", async (result) => {
  const metrics = createMetrics("drift", "1.0.0");
  metrics.inc("svc_drift_runs", { result });
  metrics.set("svc_drift_undeclared_edges", 2);
  metrics.set("svc_drift_unexercised_edges", 1);
  metrics.set("svc_drift_lost_events", 4);
  const lines = (text: string) =>
    text
      .split("\n")
      .filter((line) => line !== "")
      .sort();
  expect(lines(driftMetrics({ ...drifting, result }))).toEqual(lines((await metrics.render()).body));
});

test("reports of one run are the same bytes", () => {
  for (const format of reportFormats) expect(writeReport(format, drifting)).toBe(writeReport(format, drifting));
  expect(parseDocument(writeReport("json", drifting)).errors).toEqual([]);
});
