import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { aggregateTrace, checkDrift, exitCodeFor } from "../src/index.ts";
import { aFolder, anEdge, manifests } from "./support/edges.ts";

/** One event as a line of a file. */
const event = (seq: number, changes: object = {}) => ({
  v: 1,
  run: "r1",
  seq,
  ts: "2026-01-01T00:00:00.000Z",
  scope: "expenses",
  chain: ["planner"],
  caller: "planner",
  target: "http:ledger/read",
  target_kind: "tool",
  data_class: "finance",
  hop: 2,
  taint: "trusted_internal",
  outcome: "allow",
  ...changes,
});
const end = (events: number, changes: object = {}) => ({ v: 1, run: "r1", end: true, events, ...changes });

function written(...lines: (object | string)[]): string {
  const file = join(aFolder(), "trace.jsonl");
  writeFileSync(file, lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""));
  return file;
}

describe("a trace that may be incomplete is an error and never a pass", () => {
  test.each<[string, () => string, string]>([
    ["no such file", () => join(aFolder(), "absent.jsonl"), "trace_unreadable"],
    ["an empty file", () => written(), "file_empty"],
    ["a file of blank lines", () => written("", ""), "file_empty"],
    ["a run without its end", () => written(event(1)), "run_unended"],
    ["a missing first event", () => written(event(2), end(2)), "events_missing"],
    ["a gap", () => written(event(1), event(3), end(3)), "events_missing"],
    ["a missing last event", () => written(event(1), end(2)), "events_missing"],
    ["more events than the end says", () => written(event(1), event(2), end(1)), "run_contradictory"],
    ["two ends that differ", () => written(event(1), end(1), end(2)), "run_contradictory"],
    ["two events in one place", () => written(event(1), event(1, { target: "x" }), end(1)), "run_contradictory"],
    [
      "a truncated last line",
      () => written(event(1), end(1), JSON.stringify(event(2)).slice(0, -9)),
      "line_unreadable",
    ],
    ["a marker of dropped events", () => written(event(1), { v: 1, run: "r1", dropped: 3 }, end(1)), "line_unreadable"],
    ["another version", () => written(event(1, { v: 2 }), end(1)), "line_unreadable"],
    ["an unknown member", () => written(event(1, { enforced: false }), end(1)), "line_unreadable"],
    ["a missing member", () => written(event(1, { taint: undefined }), end(1)), "line_unreadable"],
    ["an unknown outcome", () => written(event(1, { outcome: "perhaps" }), end(1)), "line_unreadable"],
    ["an unknown taint", () => written(event(1, { taint: "none" }), end(1)), "line_unreadable"],
    ["a caller who is not the chain's last", () => written(event(1, { caller: "clerk" }), end(1)), "line_unreadable"],
    [
      "an agent's name with a space",
      () => written(event(1, { chain: ["a b"], caller: "a b" }), end(1)),
      "line_unreadable",
    ],
    ["an end of a negative number", () => written(end(-1)), "line_unreadable"],
    ["an array", () => written("[]"), "line_unreadable"],
  ])("%s", (_, path, kind) => {
    const trace = aggregateTrace(path());
    expect(trace.faults.map((fault) => fault.kind)).toContain(kind);
    const report = checkDrift(trace, manifests);
    expect([report.result, exitCodeFor(report)]).toEqual(["error", 2]);
    expect(report.summary.lostEvents).toBeGreaterThan(0);
  });

  test("an edge's narrowing that is no list of data classes", () => {
    const kinds = aggregateTrace(written(event(1, { narrowed_to: "finance" }), end(1))).faults.map(({ kind }) => kind);
    expect(kinds).toContain("line_unreadable");
  });

  test("bytes that are not text", () => {
    const file = join(aFolder(), "trace.jsonl");
    writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d, 0x0a]));
    expect(aggregateTrace(file).faults).toMatchObject([{ kind: "line_unreadable", file, line: 1 }]);
  });

  test("a fault names its file and line", () => {
    const file = written(event(1), "nonsense", end(1));
    expect(aggregateTrace(file).faults).toEqual([{ kind: "line_unreadable", file, line: 2, lost: 1 }]);
  });

  test("a gap counts the missing events", () => {
    expect(aggregateTrace(written(event(1), event(9), end(10))).faults).toMatchObject([{ lost: 8, run: "r1" }]);
  });

  test("an unfinished run is not hidden by a finished one", () => {
    const file = written(event(1), end(1), event(1, { run: "r2" }));
    expect(aggregateTrace(file).faults).toMatchObject([{ kind: "run_unended", run: "r2" }]);
  });
});

describe("a complete trace", () => {
  test("lines in any order, repeated, of several runs, without a last line break", () => {
    const file = join(aFolder(), "trace.jsonl");
    const lines = [end(2), event(2), event(1), event(1), event(1, { run: "r2" }), end(1, { run: "r2" })];
    writeFileSync(file, lines.map((line) => JSON.stringify(line)).join("\n"));
    expect(aggregateTrace(file)).toMatchObject({ events: 3, runs: 2, faults: [] });
  });

  test("one run spread over files", () => {
    const folder = aFolder();
    writeFileSync(join(folder, "a"), `${JSON.stringify(event(2))}\n`);
    mkdirSync(join(folder, "sub"));
    writeFileSync(join(folder, "sub", "b"), `${JSON.stringify(event(1))}\n${JSON.stringify(end(2))}\n`);
    writeFileSync(join(folder, ".hidden"), "nonsense");
    expect(aggregateTrace(folder)).toMatchObject({ events: 2, runs: 1, faults: [] });
  });

  test("a path named twice is read once", () => {
    const file = written(event(1), end(1));
    expect(aggregateTrace([file, file])).toMatchObject({ events: 1, faults: [] });
  });

  test("lines longer than the read buffer", () => {
    const target = "x".repeat(200_000);
    const file = written(event(1, { target }), event(2), end(2));
    expect(aggregateTrace(file)).toMatchObject({ events: 2, faults: [], edges: [{ target }, {}] });
  });

  test("calls of one edge are one edge, whatever the session, process and outcome", () => {
    const human = { chain: [], hop: 1 };
    const file = written(
      event(1),
      event(2, { outcome: "deny" }),
      event(3),
      event(4, { ...human, caller: "ada" }),
      event(5, { ...human, caller: "bob" }),
      end(5),
    );
    const seenAt = (line: number) => ({ file, line });
    const { outcome: _, ...edge } = anEdge({ dataClass: "finance" });
    expect(aggregateTrace(file).edges).toEqual([
      { ...edge, outcomes: ["allow", "deny"], count: 3, undecided: 0, seenAt: seenAt(1) },
      { ...edge, ...human, caller: "ada", outcomes: ["allow"], count: 2, undecided: 0, seenAt: seenAt(4) },
    ]);
  });

  test.each([
    ["scope", { scope: "travel" }],
    ["chain", { chain: ["clerk", "planner"] }],
    ["target", { target: "http:ledger/post" }],
    ["kind", { target_kind: "agent" }],
    ["data class", { data_class: "finance.entries" }],
    ["what the token was narrowed to", { narrowed_to: ["finance"] }],
    ["hop", { hop: 3 }],
    ["taint", { taint: "untrusted_external" }],
  ])("edges that differ in %s are distinct", (_, changes) => {
    expect(aggregateTrace(written(event(1), event(2, changes), end(2))).edges).toHaveLength(2);
  });
});

test("a line of 64 MB is read in one pass", () => {
  const file = written(event(1), "x".repeat(64 * 2 ** 20), end(1));
  const startedMs = performance.now();
  expect(aggregateTrace([file]).faults).toMatchObject([{ kind: "line_unreadable", line: 2 }]);
  expect(performance.now() - startedMs).toBeLessThan(5_000);
});
