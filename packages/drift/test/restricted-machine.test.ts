import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { requires } from "@svc/test-support/requires";
import { expect, onTestFinished, test } from "vitest";
import { aggregateTrace, driftMetrics, driftResults, traceRecorder } from "../src/index.ts";
import { aDelegation, aFolder, anEdge, manifests } from "./support/edges.ts";
import { recording } from "./support/recording.ts";
import { drifting } from "./support/reports.ts";

requires("promtool").test.each(driftResults)("promtool accepts the metrics of %s", (result) => {
  const input = driftMetrics({ ...drifting, result });
  const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input, encoding: "utf8" });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
});

requires("network namespaces").test("the gate runs without a network and without any setting", async () => {
  const folder = aFolder();
  const recorder = traceRecorder(`${folder}/traces/`);
  recorder.record(aDelegation());
  recorder.record(anEdge());
  await recorder.close();
  mkdirSync(join(folder, "manifests"));
  for (const { agent, manifest } of manifests) {
    writeFileSync(join(folder, "manifests", `${agent}.json`), JSON.stringify({ agent, manifest }));
  }
  const gate = fileURLToPath(new URL("../src/index.ts", import.meta.url));
  const program = `import { runDriftCheck } from ${JSON.stringify(gate)};
    const { text, exitCode } = runDriftCheck({ traces: ["traces"], manifests: ["manifests"] });
    process.stdout.write(text); process.exitCode = exitCode;`;
  const node = [process.execPath, "--conditions=@svc/source", "--input-type=module", "--eval", program];
  const { status, stdout, stderr } = spawnSync("unshare", ["--net", ...node], {
    cwd: folder,
    env: {},
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toMatch(/^pass: 2 edges in 2 events of 1 runs/m);
});

/** A file system of 64 KiB. */
function tinyDisk(): string {
  const folder = aFolder();
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]);
  onTestFinished(() => {
    execFileSync("umount", ["-l", folder]);
  });
  return folder;
}

requires("mounts").test("a full disk breaks no caller, and the gate rejects the trace", async () => {
  const disk = tinyDisk();
  const losses: unknown[] = [];
  const recorder = traceRecorder(`${disk}/`, { onLoss: (error) => losses.push(error) });
  for (let i = 0; i < 1_000; i++) recorder.record(anEdge());
  await recorder.close();
  expect(losses).toEqual([expect.objectContaining({ code: "ENOSPC" })]);
  expect(aggregateTrace(disk).faults.map(({ kind }) => kind)).toContain("run_unended");
});

test("many processes record into one folder, each complete, and a killed one is detected", async () => {
  const folder = aFolder();
  const whole =
    "for (let i = 0; i < 200; i++) { recorder.record(edge); if (i % 20 === 0) await new Promise(setImmediate); }";
  await Promise.all(Array.from({ length: 8 }, () => recording(whole, folder)));
  expect(aggregateTrace(folder)).toMatchObject({ events: 1_600, runs: 8, faults: [] });
  await recording("recorder.record(edge); process.kill(process.pid, 'SIGKILL');", folder);
  expect(aggregateTrace(folder).faults).toEqual([expect.objectContaining({ kind: "run_unended" })]);
});
