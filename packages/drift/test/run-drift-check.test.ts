import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { runDriftCheck, traceRecorder } from "../src/index.ts";
import { aDelegation, aFolder, anEdge, manifests } from "./support/edges.ts";

async function recorded(folder: string, edge = anEdge()): Promise<string> {
  const file = join(folder, "trace.jsonl");
  const recorder = traceRecorder(file);
  recorder.record(aDelegation());
  recorder.record(edge);
  await recorder.close();
  return file;
}

/** One in JSON, one in YAML, and a file that is neither. */
function declared(folder: string): string {
  const path = join(folder, "manifests");
  mkdirSync(join(path, "more"), { recursive: true });
  const [planner, clerk] = manifests;
  writeFileSync(join(path, "planner.json"), JSON.stringify({ ...planner, override: { reason: "no discovery" } }));
  writeFileSync(join(path, "more", "clerk.yaml"), stringify(clerk));
  writeFileSync(join(path, "README.md"), "# Manifests");
  return path;
}

test("a clean run passes, in text, exit code, metrics and report", async () => {
  const folder = aFolder();
  const outcome = runDriftCheck({ traces: [await recorded(folder)], manifests: [declared(folder)] });
  expect(outcome).toMatchObject({ exitCode: 0, report: { result: "pass" } });
  expect(outcome.text).toMatch(/^pass: 2 edges/m);
  expect(outcome.metrics).toContain('svc_drift_runs_total{result="pass"} 1');
});

test("drift exits 1 and names the manifest's file", async () => {
  const folder = aFolder();
  const trace = await recorded(folder, anEdge({ target: "http:mail/send" }));
  const manifestsFolder = declared(folder);
  const outcome = runDriftCheck({ traces: [trace], manifests: [manifestsFolder], format: "github" });
  expect(outcome.exitCode).toBe(1);
  expect(outcome.text).toContain(`::error file=${join(manifestsFolder, "planner.json")}`);
  expect(outcome.metrics).toContain("svc_drift_undeclared_edges 1");
});

test("an expected deny passes, and is in the report", async () => {
  const folder = aFolder();
  const traces = [await recorded(folder, anEdge({ target: "http:mail/send", outcome: "deny" }))];
  const entry = "- {scope: expenses, caller: planner, target: 'http:mail/send', data_class: finance.entries}";
  const check = { traces, manifests: [declared(folder)], expectedDenials: [file(folder, "denied.yaml", entry)] };
  const outcome = runDriftCheck(check);
  expect(outcome).toMatchObject({ exitCode: 0, report: { result: "pass", summary: { expectedDenials: 1 } } });
  expect(outcome.text).toContain("http:mail/send");
  expect(outcome.metrics).toContain("svc_drift_undeclared_edges 0");
});

describe("unreadable input exits 2", () => {
  test.each<[string, (folder: string) => string[], string]>([
    ["no such manifest", (folder) => [join(folder, "absent.json")], "there is no such file"],
    ["a folder without manifests", () => [aFolder()], "no .json, .yaml or .yml file"],
    ["JSON that is none", (folder) => [file(folder, "x.json", "{")], "cannot be read as JSON"],
    ["YAML that is none", (folder) => [file(folder, "x.yaml", "a: [")], "cannot be read as JSON or YAML"],
    [
      "YAML with a number that is octal to other readers",
      (folder) => [file(folder, "x.yaml", "agent: a\nmanifest: {scopes: {s: {hop_budget: 010, tools: []}}}\n")],
      "x.yaml: 010 is 10 here, and an octal number to YAML 1.1. Write it without the leading zero.",
    ],
    ["YAML with a member twice", (folder) => [file(folder, "x.yaml", "agent: a\nagent: b\n")], "cannot be read"],
    [
      "the body of another route",
      (folder) => [file(folder, "x.json", '{"name": "a", "manifest": {}}')],
      "POST /v1/manifests",
    ],
    ["an invalid manifest", (folder) => [file(folder, "x.json", '{"agent": "a", "manifest": {}}')], "is invalid"],
    ["no manifests at all", () => [], "no manifest was named"],
  ])("%s", async (_, paths, message) => {
    const folder = aFolder();
    const outcome = runDriftCheck({ traces: [await recorded(folder)], manifests: paths(folder) });
    expect([outcome.exitCode, outcome.text]).toEqual([2, expect.stringContaining(message)]);
  });

  test.each<[string, string, string]>([
    ["no list", "expected: []", "not a list of {scope, caller, target"],
    ["a number that is octal to other readers", "- {scope: 010, caller: a, target: t}", "010 is 10 here"],
    ["an entry of no reason there is", "- {scope: s, caller: a, target: t, reason: NO}", "0.reason"],
    ["an entry with an unknown member", "- {scope: s, caller: a, target: t, class: c}", "class"],
    ["YAML that is none", "- {", "cannot be read as JSON or YAML"],
  ])("expected denials: %s", async (_, text, message) => {
    const folder = aFolder();
    const denied = file(folder, "denied.yaml", text);
    const checked = { traces: [await recorded(folder)], manifests: [declared(folder)], expectedDenials: [denied] };
    const outcome = runDriftCheck(checked);
    expect(outcome.report.errors).toMatchObject([{ kind: "expected_denials_unreadable", file: denied }]);
    expect([outcome.exitCode, outcome.text]).toEqual([2, expect.stringContaining(message)]);
  });

  test("no trace at all", () => {
    const outcome = runDriftCheck({ traces: [], manifests: [declared(aFolder())] });
    expect(outcome).toMatchObject({ exitCode: 2, report: { errors: [{ kind: "nothing_observed" }] } });
  });
});

function file(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
