import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { aggregateTrace, traceEnv, traceRecorder } from "../src/index.ts";
import { aDelegation, aFolder, anEdge, linesIn } from "./support/edges.ts";
import { recording } from "./support/recording.ts";

const faultsOf = (path: string) => aggregateTrace(path).faults.map(({ kind }) => kind);

test("a run is its events in order and its end, in the documented format", async () => {
  const file = join(aFolder(), "trace.jsonl");
  const recorder = traceRecorder(file, { now: () => Date.UTC(2026, 0, 1), uuid: () => "run-1" });
  recorder.record(aDelegation());
  recorder.record(anEdge({ outcome: "deny", taint: "untrusted_external" }));
  await recorder.close();
  const same = { v: 1, run: "run-1", ts: "2026-01-01T00:00:00.000Z", scope: "expenses" };
  expect(linesIn(file)).toEqual([
    {
      ...same,
      seq: 1,
      chain: [],
      caller: "ada",
      target: "planner",
      target_kind: "agent",
      data_class: "finance",
      hop: 1,
      taint: "trusted_internal",
      outcome: "allow",
    },
    {
      ...same,
      seq: 2,
      chain: ["planner"],
      caller: "planner",
      target: "http:ledger/read",
      target_kind: "tool",
      data_class: "finance.entries",
      hop: 2,
      taint: "untrusted_external",
      outcome: "deny",
    },
    { v: 1, run: "run-1", end: true, events: 2 },
  ]);
});

test("concurrent events are all written, and read as they were recorded", async () => {
  const file = join(aFolder(), "deep", "trace.jsonl");
  const recorder = traceRecorder(file);
  for (let hop = 1; hop <= 5_000; hop++) recorder.record(anEdge({ hop, target: `http:ledger/é${hop}` }));
  await recorder.close();
  const trace = aggregateTrace(file);
  expect(trace).toMatchObject({ events: 5_000, runs: 1, faults: [] });
  expect(trace.edges.map(({ target }) => target)).toEqual(
    Array.from({ length: 5_000 }, (_, i) => `http:ledger/é${i + 1}`),
  );
});

test("a run without events has an end with 0 events", async () => {
  const file = join(aFolder(), "trace.jsonl");
  await traceRecorder(file).close();
  expect(linesIn(file)).toMatchObject([{ end: true, events: 0 }]);
});

describe("a folder", () => {
  test.each([
    ["that exists", (folder: string) => folder],
    ["that is named with a slash", (folder: string) => `${join(folder, "new")}/`],
  ])("%s has one file for each recorder", async (_, named) => {
    const path = named(aFolder());
    const recorders = [traceRecorder(path), traceRecorder(path)];
    for (const recorder of recorders) recorder.record(anEdge());
    await Promise.all(recorders.map((recorder) => recorder.close()));
    expect(readdirSync(path)).toHaveLength(2);
    expect(aggregateTrace(path)).toMatchObject({ events: 2, runs: 2, faults: [] });
  });
});

describe("a recording process", () => {
  test.each([
    ["runs out", "for (let i = 0; i < 100; i++) recorder.record(edge);"],
    ["calls process.exit amid its events", "for (let i = 0; i < 100; i++) recorder.record(edge); process.exit(0);"],
    [
      "exits while the run is being closed",
      "for (let i = 0; i < 100; i++) recorder.record(edge); recorder.close(); process.exit(0);",
    ],
    [
      "dies of an exception",
      "for (let i = 0; i < 100; i++) recorder.record(edge); process.on('uncaughtException', () => process.exit(1)); throw new Error();",
    ],
  ])("and %s ends its run by itself", async (_, script) => {
    const folder = aFolder();
    await recording(script, folder);
    expect(aggregateTrace(folder)).toMatchObject({ events: 100, runs: 1, faults: [] });
  });

  test.each([
    ["after its first event", "recorder.record(edge); process.kill(process.pid, 'SIGKILL');"],
    ["after many", "for (let i = 0; i < 100; i++) recorder.record(edge); process.kill(process.pid, 'SIGKILL');"],
    ["before any", "process.kill(process.pid, 'SIGKILL');"],
  ])("and is killed %s leaves a run that is detected as incomplete", async (_, script) => {
    const folder = aFolder();
    await recording(script, folder);
    expect(faultsOf(folder)).not.toEqual([]);
  });

  test("and is killed after its first event is not hidden by a complete run in the same file", async () => {
    const file = join(aFolder(), "shared.jsonl");
    await recording("recorder.record(edge);", file);
    await recording("recorder.record(edge); process.kill(process.pid, 'SIGKILL');", file);
    expect(faultsOf(file)).toEqual(["run_unended"]);
  });

  test("shares one file with others: no line and no run is mixed with another", async () => {
    const file = join(aFolder(), "shared.jsonl");
    const script =
      "for (let i = 0; i < 500; i++) { recorder.record(edge); if (i % 50 === 0) await new Promise(setImmediate); }";
    await Promise.all(Array.from({ length: 4 }, () => recording(script, file)));
    expect(aggregateTrace(file)).toMatchObject({ events: 2_000, runs: 4, faults: [] });
  });
});

test("traceEnv names an absolute path, for a child in any folder", () => {
  expect(traceEnv("/a/../traces/")).toEqual({ SVC_TRACE_PATH: "/traces/" });
  expect(traceEnv("traces.jsonl")).toEqual({ SVC_TRACE_PATH: join(process.cwd(), "traces.jsonl") });
});

describe("where the trace cannot be written", () => {
  test.each([
    ["a full disk", () => "/dev/full"],
    ["a folder that cannot be made", () => "/proc/nowhere/trace.jsonl"],
    ["a pipe without a reader", () => namedPipe(join(aFolder(), "pipe"))],
  ])("%s: no call throws or waits, and the loss is reported once", async (_, path) => {
    const losses: unknown[] = [];
    const recorder = traceRecorder(path(), { onLoss: (error) => losses.push(error) });
    for (let i = 0; i < 3; i++) recorder.record(anEdge());
    await recorder.close();
    recorder.record(anEdge());
    expect(losses).toHaveLength(1);
  });

  test("a listener that throws breaks no caller", async () => {
    const recorder = traceRecorder("/dev/full", {
      onLoss: () => {
        throw new Error("a listener's own");
      },
    });
    recorder.record(anEdge());
    await expect(recorder.close()).resolves.toBeUndefined();
  });

  test("by default the process is warned", async () => {
    const warned = once(process, "warning");
    traceRecorder("/dev/full").record(anEdge());
    const [warning] = await warned;
    expect(warning).toMatchObject({ name: "TraceLoss", message: expect.stringContaining("ENOSPC") });
  });
});

function namedPipe(path: string): string {
  execFileSync("mkfifo", [path]);
  return path;
}

test("a run's first event is written at once, so that a process killed then is detected", () => {
  const file = join(aFolder(), "trace.jsonl");
  traceRecorder(file, { fs: { write: () => {} } }).record(anEdge());
  expect(linesIn(file)).toHaveLength(1);
});

test("an event after the end is written, and contradicts the end", async () => {
  const file = join(aFolder(), "trace.jsonl");
  const recorder = traceRecorder(file);
  recorder.record(anEdge());
  await recorder.close();
  recorder.record(anEdge({ target: "http:ledger/late" }));
  expect(faultsOf(file)).toEqual(["run_contradictory"]);
  expect(aggregateTrace(file).edges).toHaveLength(2);
});

test("closing twice is the same as closing once", async () => {
  const file = join(aFolder(), "trace.jsonl");
  const recorder = traceRecorder(file);
  await Promise.all([recorder.close(), recorder.close()]);
  expect(linesIn(file)).toHaveLength(1);
});

test("many recorders raise no warning of too many listeners", async () => {
  const folder = aFolder();
  const warnings: unknown[] = [];
  const onWarning = (warning: Error) => warnings.push(warning.name);
  process.on("warning", onWarning);
  const recorders = Array.from({ length: 20 }, () => traceRecorder(folder));
  await new Promise(setImmediate);
  process.off("warning", onWarning);
  await Promise.all(recorders.map((recorder) => recorder.close()));
  expect(warnings).toEqual([]);
});

test("the recorder's entry loads neither the compiler nor any package", () => {
  const entry = new URL("../src/recorder.ts", import.meta.url).href;
  const program = `
    import { registerHooks } from "node:module";
    const loaded = new Set();
    registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) });
    await import("${entry}");
    console.log(JSON.stringify([...loaded]));`;
  const args = ["--conditions=@svc/source", "--input-type=module", "--eval", program];
  const loaded: string[] = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
  const own = loaded.filter((url) => !url.startsWith("node:")).map((url) => url.replace(/.*\/drift\/src\//, ""));
  expect(own.toSorted()).toEqual(["edge.ts", "recorder.ts", "trace-writer.ts"]);
});

test("an existing file is continued", async () => {
  const folder = aFolder();
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "trace.jsonl");
  for (let run = 0; run < 2; run++) {
    const recorder = traceRecorder(file);
    recorder.record(anEdge());
    await recorder.close();
  }
  appendFileSync(file, "\n");
  expect(existsSync(file) && aggregateTrace(file)).toMatchObject({ runs: 2, faults: [] });
});
