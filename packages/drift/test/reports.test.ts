import { createMetrics } from "@svc/telemetry";
import { describe, expect, test } from "vitest";
import { parseDocument } from "yaml";
import { driftMetrics, driftResults, reportFormats, writeReport } from "../src/index.ts";
import { drifting, passing } from "./support/reports.ts";

test.each(reportFormats)("%s names what was found, and ends with a line break", (format) => {
  const text = writeReport(format, drifting);
  expect(text).toMatch(/TARGET_NOT_DECLARED[\s\S]*\n$/);
  expect(text).toContain("http:mail/send");
  expect(text).toContain("run r has no end");
  expect(text).toContain("planner");
});

test.each(reportFormats)("%s of a pass names nothing wrong", (format) => {
  expect(writeReport(format, passing)).not.toMatch(/::error|::warning|<failure|<error|"level"|undeclared: |error: /);
});

test("text ends with the verdict", () => {
  const lines = writeReport("text", drifting).trimEnd().split("\n");
  expect(lines.at(-1)).toBe("error: 3 edges in 9 events of 2 runs, 2 undeclared, 1 never exercised, 4 lost events");
  expect(lines[1]).toBe(
    'undeclared: human > planner -> "http:mail/send" ("mail", scope "expenses"): TARGET_NOT_DECLARED, 2 times. Declare it.',
  );
});

test("text stays one line for each finding, whatever an agent asked for", () => {
  expect(writeReport("text", drifting).trimEnd().split("\n")).toHaveLength(5);
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

describe("junit", () => {
  test("counts failures, errors and skipped cases", () => {
    expect(writeReport("junit", drifting)).toContain('<testsuites tests="4" failures="2" errors="1" skipped="1">');
    expect(writeReport("junit", passing)).toContain('tests="1" failures="0" errors="0" skipped="0"');
  });

  test("is well-formed, whatever an agent asked for", () => {
    const xml = writeReport("junit", drifting);
    const tags: string[] = [];
    for (const [, close, name = "", open] of xml.matchAll(
      /<(\/?)([a-z]+)(?: [a-z]+="[^"<&]*(?:&[a-z]+;[^"<&]*)*")*(\/?)>/g,
    )) {
      if (close) expect(tags.pop()).toBe(name);
      else if (!open) tags.push(name);
    }
    expect(tags).toEqual([]);
    expect(xml.replace(/<\?xml[^?]*\?>|<(\/?)([a-z]+)(?: [a-z]+="[^"<]*")*(\/?)>/g, "").trim()).toBe("");
    expect(xml).not.toContain("\u0000");
  });
});

describe("github", () => {
  test("annotates the manifest that would have to change, or else the trace", () => {
    const lines = writeReport("github", drifting).trimEnd().split("\n");
    expect(lines[0]).toBe("::error file=traces/2.jsonl,title=drift%3A run_unended::run r has no end");
    expect(lines[1]).toMatch(/^::error file=m\/planner\.yaml,title=drift%3A TARGET_NOT_DECLARED::/);
    expect(lines[2]).toMatch(/^::error file=traces\/1\.jsonl,line=7,/);
  });

  test("lets no name start a command of its own", () => {
    const lines = writeReport("github", drifting).trimEnd().split("\n");
    expect(lines).toHaveLength(5);
    for (const line of lines) expect(line).toMatch(/^::(error|warning|notice) /);
    expect(lines[2]).toContain("100%25");
  });
});

describe("sarif", () => {
  const { runs, version } = JSON.parse(writeReport("sarif", drifting));

  test("every result names a rule that is listed", () => {
    expect(version).toBe("2.1.0");
    const { rules } = runs[0].tool.driver;
    expect(runs[0].results).toHaveLength(4);
    for (const { ruleId, ruleIndex } of runs[0].results) expect(rules[ruleIndex].id).toBe(ruleId);
  });

  test("a result lies where it can be mended", () => {
    expect(
      runs[0].results.map(({ level, locations: [at] = [] }: { level: string; locations?: object[] }) => [level, at]),
    ).toEqual([
      ["error", { physicalLocation: { artifactLocation: { uri: "traces/2.jsonl" } } }],
      ["error", { physicalLocation: { artifactLocation: { uri: "m/planner.yaml" } } }],
      ["error", { physicalLocation: { artifactLocation: { uri: "traces/1.jsonl" }, region: { startLine: 7 } } }],
      ["note", undefined],
    ]);
  });

  test("a run that proves nothing is not called successful", () => {
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
