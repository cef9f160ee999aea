import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { endedWorkers } from "../src/ended-workers.ts";
import { claimMetricsFolder } from "../src/shared-folder.ts";
import { metricsFolder } from "./support/metrics-folder.ts";

const folder = metricsFolder();

/** Numbers of processes that run. */
const running = new Set<number>();
const isRunning = (pid: number) => running.has(pid);
const supervisor = { pid: 1, startedAt: 1 };
const keeper = () => endedWorkers({ dir: folder.dir, ...supervisor, isRunning });

function worker(pid: number, startedAt = 1, runs = isRunning) {
  running.add(pid);
  const { metrics, shared, scrape } = folder.worker({ pid, startedAt, isRunning: runs });
  const end = async () => {
    await shared.close();
    running.delete(pid);
  };
  folder.alsoEnd(end);
  return { metrics, end, scrape };
}
const marks = "svc_taint_marks_total";
const durations = "svc_chain_query_duration_seconds";

test("workers that are replaced again and again leave one file, and every count", async () => {
  const keepCounts = keeper();
  const reader = worker(2);
  for (let replaced = 1; replaced <= 50; replaced++) {
    const replacement = worker(100 + replaced);
    replacement.metrics.inc("svc_taint_marks", 2);
    replacement.metrics.inc("svc_decisions", { outcome: "deny" });
    replacement.metrics.observe(durations, replaced / 1_000);
    replacement.metrics.set("svc_telemetry_identity_disclosure", 1);
    await replacement.end();
    const before = await reader.scrape();
    keepCounts(100 + replaced);
    expect(await reader.scrape()).toEqual(before);
    expect(before.get(marks)).toBe(2 * replaced);
    expect(before.get(`${durations}_count`)).toBe(replaced);
    expect(before.get("svc_telemetry_identity_disclosure")).toBe(0);
    expect(readdirSync(folder.dir).toSorted()).toEqual(["1-1.ended.json", "2-1.json"]);
  }
});

test("a worker that was killed before it counted leaves no draft", async () => {
  writeFileSync(join(folder.dir, "7-1.json.draft"), "");
  keeper()(7);
  expect(readdirSync(folder.dir)).toEqual(["1-1.ended.json"]);
});

test("files that cannot be removed are counted once, until they can", async () => {
  const keepCounts = keeper();
  const reader = worker(2);
  const first = worker(3);
  first.metrics.inc("svc_taint_marks", 5);
  await first.end();
  const file = join(folder.dir, "3-1.json");
  const left = readFileSync(file);
  keepCounts(3);
  writeFileSync(file, left);
  expect((await reader.scrape()).get(marks)).toBe(5);
  keepCounts(4);
  expect((await reader.scrape()).get(marks)).toBe(5);
  expect(readdirSync(folder.dir)).not.toContain("3-1.json");
});

test("a folder that cannot be written keeps its files, and the next worker that ends makes up for it", async () => {
  const keepCounts = keeper();
  const reader = worker(2);
  const first = worker(3);
  first.metrics.inc("svc_taint_marks", 5);
  await first.end();
  const inTheWay = join(folder.dir, "1-1.ended.json.draft");
  mkdirSync(inTheWay);
  keepCounts(3);
  expect((await reader.scrape()).get(marks)).toBe(5);
  expect(readdirSync(folder.dir)).toContain("3-1.json");
  rmSync(inTheWay, { recursive: true });
  keepCounts(4);
  expect((await reader.scrape()).get(marks)).toBe(5);
  expect(readdirSync(folder.dir)).not.toContain("3-1.json");
});

test("the number of an ended worker may be another process's: its file stays", async () => {
  const keepCounts = keeper();
  const ended = worker(3);
  ended.metrics.inc("svc_taint_marks", 5);
  await ended.end();
  const other = worker(3, 2);
  other.metrics.inc("svc_taint_marks");
  await other.scrape();
  keepCounts(3);
  expect(readdirSync(folder.dir)).toContain("3-2.json");
  expect((await other.scrape()).get(marks)).toBe(6);
});

test("no sum depends on the order in which processes are added", async () => {
  const keepCounts = keeper();
  const reader = worker(2);
  const ended = Array.from({ length: 40 }, (_, n) => 10 + n);
  for (const pid of ended) {
    const replacement = worker(pid);
    replacement.metrics.observe(durations, 1 / pid);
    await replacement.end();
  }
  const before = (await reader.scrape()).get(`${durations}_sum`);
  for (const pid of ended.toReversed()) keepCounts(pid);
  expect((await reader.scrape()).get(`${durations}_sum`)).toBe(before);
  expect(before).toBeCloseTo(
    ended.reduce((sum, pid) => sum + 1 / pid, 0),
    3,
  );
});

test("a deployment that starts removes the counts of ended workers of an earlier one", () => {
  keeper()(7);
  claimMetricsFolder(folder.dir, () => false);
  expect(readdirSync(folder.dir)).toEqual([]);
});

test("a worker that ends while a process reads is counted once", async () => {
  const keepCounts = keeper();
  for (const pid of [3, 4]) {
    const ended = worker(pid);
    ended.metrics.inc("svc_taint_marks", pid);
    await ended.end();
  }
  // Called for each file that was read: the other one is removed before it is read.
  let isFirst = true;
  const reader = worker(2, 1, (pid) => {
    if (isFirst) keepCounts(7 - pid);
    isFirst = false;
    return isRunning(pid);
  });
  expect((await reader.scrape()).get(marks)).toBe(7);
  expect(isFirst).toBe(false);
});
