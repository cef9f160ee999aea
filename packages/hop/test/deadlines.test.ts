import { once } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { waitUntil } from "@svc/test-support";
import { expect, onTestFinished, test, vi } from "vitest";
import { sharedDeadlines } from "../src/index.ts";

test("each ends once, not before its time, and not after it was cancelled", async () => {
  let nowMs = 0;
  const deadlines = sharedDeadlines(() => nowMs);
  const ended: string[] = [];
  deadlines(2_000, () => ended.push("second"));
  deadlines(1_000, () => ended.push("first"));
  const cancel = deadlines(1_000, () => ended.push("cancelled"));
  cancel();
  nowMs = 1_000;
  await waitUntil("the first", () => ended.length > 0);
  expect(ended).toEqual(["first"]);
  nowMs = 2_000;
  await waitUntil("the second", () => ended.length > 1);
  expect(ended).toEqual(["first", "second"]);
});

test("one that another cancels in the same moment does not end", async () => {
  let nowMs = 0;
  const deadlines = sharedDeadlines(() => nowMs);
  const ended: string[] = [];
  const cancels = ["one", "other"].map((name, index) =>
    deadlines(1_000, () => {
      ended.push(name);
      cancels[1 - index]?.();
    }),
  );
  deadlines(1_000, () => ended.push("last"));
  nowMs = 1_000;
  await waitUntil("the last", () => ended.includes("last"));
  expect(ended).toHaveLength(2);
});

test("any number of them at once sets one timer", () => {
  const timers = vi.spyOn(globalThis, "setTimeout");
  onTestFinished(() => timers.mockRestore());
  const deadlines = sharedDeadlines(() => 0);
  const cancels = Array.from({ length: 100 }, () => deadlines(1_000, () => {}));
  for (const cancel of cancels) cancel();
  expect(timers).toHaveBeenCalledTimes(1);
});

test("what arrived while the process was busy comes before its deadline", async () => {
  const posted = new Int32Array(new SharedArrayBuffer(4));
  const program = `const { parentPort, workerData: posted } = require("node:worker_threads");
    parentPort.once("message", () => {
      parentPort.postMessage("answer");
      Atomics.store(posted, 0, 1);
      Atomics.notify(posted, 0);
    });
    parentPort.postMessage("ready");`;
  const elsewhere = new Worker(program, { eval: true, workerData: posted });
  onTestFinished(async () => void (await elsewhere.terminate()));
  await once(elsewhere, "message");
  const first = new Promise((resolve) => {
    elsewhere.once("message", resolve);
    sharedDeadlines(() => performance.now())(1, () => resolve("late"));
  });
  // Timers come next in the event loop, and before messages.
  await turn();
  elsewhere.postMessage("request");
  // Blocks this thread until the answer is posted, and past the timer.
  Atomics.wait(posted, 0, 0);
  const endMs = performance.now() + 100;
  while (performance.now() < endMs);
  expect(await first).toBe("answer");
});
