import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createMetrics } from "../src/index.ts";
import { shareMetrics } from "../src/multiprocess.ts";
import { claimMetricsFolder } from "../src/shared-folder.ts";
import { samplesOf, typesOf } from "./support/exposition.ts";
import { metricsFolder } from "./support/metrics-folder.ts";

const folder = metricsFolder();
const worker = (pid: number, isRunning: (pid: number) => boolean = () => true, startedAt = 1) =>
  folder.worker({ pid, startedAt, isRunning });
const scrape = (of: ReturnType<typeof worker>) => of.scrape();
const allows = 'svc_decisions_total{outcome="allow"}';

test("any worker's scrape covers all workers", async () => {
  const [one, other] = [worker(1), worker(2)];
  one.metrics.inc("svc_decisions", { outcome: "allow" }, 2);
  other.metrics.inc("svc_decisions", { outcome: "allow" }, 3);
  one.metrics.observe("svc_chain_query_duration_seconds", 0.002);
  other.metrics.observe("svc_chain_query_duration_seconds", 0.2);
  await scrape(other);
  const fromOne = await scrape(one);
  expect(fromOne.get(allows)).toBe(5);
  expect(fromOne.get("svc_chain_query_duration_seconds_count")).toBe(2);
  expect(fromOne.get('svc_chain_query_duration_seconds_bucket{le="0.0025"}')).toBe(1);
  expect(fromOne.get('svc_chain_query_duration_seconds_bucket{le="+Inf"}')).toBe(2);
  expect(await scrape(other)).toEqual(fromOne);
});

test("the merged scrape has the families and series of a single process, in the same order", async () => {
  const alone = (await createMetrics("control_plane", "1.2.3").render()).body;
  const merged = (await worker(1).shared.render()).body;
  expect([...typesOf(merged)]).toEqual([...typesOf(alone)]);
  expect([...samplesOf(merged).keys()].sort()).toEqual([...samplesOf(alone).keys()].sort());
});

test("a worker that ended still counts, and one of the same pid after it adds to it", async () => {
  const first = worker(7, () => true, 1);
  first.metrics.inc("svc_taint_marks", 4);
  await first.shared.close();
  const second = worker(7, () => true, 2);
  second.metrics.inc("svc_taint_marks");
  expect((await scrape(second)).get("svc_taint_marks_total")).toBe(5);
});

test("gauges are those of running processes, counters those of all", async () => {
  const running = new Set([1, 2]);
  const [one, other] = [worker(1, (pid) => running.has(pid)), worker(2, (pid) => running.has(pid))];
  other.metrics.set("svc_telemetry_identity_disclosure", 1);
  other.metrics.inc("svc_revocations");
  await scrape(other);
  expect((await scrape(one)).get("svc_telemetry_identity_disclosure")).toBe(1);
  running.delete(2);
  const after = await scrape(one);
  expect(after.get("svc_telemetry_identity_disclosure")).toBe(0);
  expect(after.get("svc_revocations_total")).toBe(1);
});

test("a deployment that starts removes the files of an earlier one, and no other", async () => {
  const earlier = worker(7, () => true, 1);
  earlier.metrics.inc("svc_taint_marks", 4);
  await earlier.shared.close();
  writeFileSync(join(folder.dir, "8-1.json.draft"), "");
  writeFileSync(join(folder.dir, "notes.txt"), "hello");
  claimMetricsFolder(folder.dir, (pid) => pid === 7);
  expect(readdirSync(folder.dir)).toContain("7-1.json");
  claimMetricsFolder(folder.dir, () => false);
  expect(readdirSync(folder.dir)).toEqual(["notes.txt"]);
});

test("a folder that cannot be used is reported in one line that names the setting", () => {
  const claim = () => claimMetricsFolder(join(folder.dir, "absent"));
  expect(claim).toThrow(/^PROMETHEUS_MULTIPROC_DIR: .*ENOENT.*: name an empty folder that this process may write$/);
});

test("a gauge of an earlier process with the same pid is not used", async () => {
  const earlier = worker(7, () => true, 1);
  earlier.metrics.set("svc_telemetry_identity_disclosure", 1);
  await earlier.shared.close();
  expect((await scrape(worker(7, () => true, 2))).get("svc_telemetry_identity_disclosure")).toBe(0);
});

test.each([
  ["cut off", (whole: string) => whole.slice(0, whole.length / 2)],
  ["empty", () => ""],
  ["no JSON", () => "\u0000\u0001"],
  ["JSON of another shape", () => '{"svc_decisions_total": 9}'],
  ["a list of other things", () => '[null, 1, "x", {"name": "svc_decisions_total", "values": [null, {"labels": {}}]}]'],
])("a file that is %s does not affect the counts of other processes", async (_name, damage) => {
  const [one, other] = [worker(1), worker(2)];
  one.metrics.inc("svc_taint_marks", 2);
  other.metrics.inc("svc_taint_marks", 3);
  await scrape(one);
  await scrape(other);
  const whole = readFileSync(join(folder.dir, "2-1.json"), "utf8");
  const reader = worker(3);
  writeFileSync(join(folder.dir, "2-1.json"), damage(whole));
  expect((await scrape(reader)).get("svc_taint_marks_total")).toBe(2);
});

test("a file that becomes unreadable keeps the counts of its last read", async () => {
  const [one, other] = [worker(1), worker(2)];
  other.metrics.inc("svc_taint_marks", 3);
  await scrape(other);
  expect((await scrape(one)).get("svc_taint_marks_total")).toBe(3);
  writeFileSync(join(folder.dir, "2-1.json"), "[{");
  expect((await scrape(one)).get("svc_taint_marks_total")).toBe(3);
});

test("a foreign file in the directory is ignored", async () => {
  const foreign = [
    { name: "svc_decisions_total", help: "x", type: "counter", values: [{ labels: { outcome: "alice" }, value: 1 }] },
    { name: "svc_logins_total", help: "x", type: "counter", values: [{ labels: {}, value: 1 }] },
    { name: "svc_taint_marks_total", help: "forged", type: "gauge", values: [{ labels: {}, value: 2 }] },
    { name: "svc_revocations_total", type: "counter", values: [{ labels: {}, value: -5 }] },
  ];
  writeFileSync(join(folder.dir, "99-1.json"), JSON.stringify(foreign));
  writeFileSync(join(folder.dir, "notes.txt"), "hello");
  const { body } = await worker(1).shared.render();
  expect(body).not.toMatch(/alice|logins|forged|hello/);
  expect(samplesOf(body).get("svc_taint_marks_total")).toBe(2);
  expect(samplesOf(body).get("svc_revocations_total")).toBe(0);
});

test("a failed write keeps the last scrape, and the next write catches up", async () => {
  const one = worker(1);
  one.metrics.inc("svc_taint_marks", 2);
  expect((await scrape(one)).get("svc_taint_marks_total")).toBe(2);
  const held = readFileSync(join(folder.dir, "1-1.json"));
  rmSync(folder.dir, { recursive: true });
  one.metrics.inc("svc_taint_marks");
  expect((await scrape(one)).get("svc_taint_marks_total")).toBe(2);
  mkdirSync(folder.dir);
  writeFileSync(join(folder.dir, "1-1.json"), held);
  expect((await scrape(one)).get("svc_taint_marks_total")).toBe(3);
});

test("parallel scrapes write one whole file and leave no temporary file", async () => {
  const one = worker(1);
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => {
      one.metrics.inc("svc_taint_marks");
      return (await scrape(one)).get("svc_taint_marks_total");
    }),
  );
  expect(answers.every((value) => value === 20)).toBe(true);
  expect(readdirSync(folder.dir)).toEqual(["1-1.json"]);
});

test("a directory that cannot be written stops the start", () => {
  const missing = join(folder.dir, "missing");
  const { registry } = createMetrics("control_plane", "1.2.3");
  expect(() => shareMetrics({ dir: missing, registry, pid: 1, startedAt: 1 })).toThrow("ENOENT");
});

async function startProcess(): Promise<ChildProcess> {
  const path = fileURLToPath(new URL("support/metrics-worker.ts", import.meta.url));
  const child = fork(path, [folder.dir], { execArgv: ["--conditions=@svc/source"] });
  folder.alsoEnd(() => child.kill("SIGKILL"));
  expect(await once(child, "message")).toEqual(["ready", undefined]);
  return child;
}

async function ask(child: ChildProcess): Promise<number> {
  child.send("render");
  const [body] = await once(child, "message");
  return samplesOf(body).get(allows) ?? Number.NaN;
}

test("across real processes no counter falls when one is killed, and one that ends leaves its last counts", async () => {
  const [killed, survivor] = [await startProcess(), await startProcess()];
  for (let n = 0; n < 10; n += 1) killed.send("count");
  const before = await ask(killed);
  expect(before).toBe(10);
  killed.kill("SIGKILL");
  await once(killed, "exit");
  expect(await ask(survivor)).toBe(before);

  const ending = await startProcess();
  for (let n = 0; n < 5; n += 1) ending.send("count");
  ending.send("close");
  await once(ending, "exit");
  survivor.send("count");
  expect(await ask(survivor)).toBe(before + 5 + 1);
});
