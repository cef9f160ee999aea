import { expect, test } from "vitest";
import { memoryOf, parseMachine, parseProcess, readMachine, readProcesses, ticksOfTrees } from "./src/machine/proc.ts";

test("interrupt time does not count as others' work, stolen time does", () => {
  const stat = "cpu  100 10 40 800 20 3 7 20 0 0\ncpu0 50 5 20 400 10 1 3 10 0 0\n";
  expect(parseMachine(stat)).toEqual({ worked: 170, passed: 1000 });
});

test("a process name that looks like further fields is read", () => {
  const stat = "42 (a) R 1 2 (b)) S 7 42 42 0 -1 4194560 1 2 3 4 11 22 33 44 20 0 1 0 5 6 7\n";
  expect(parseProcess(stat)).toEqual({ pid: 42, parent: 7, worked: 110 });
});

const process_ = (pid: number, parent: number, worked: number) => ({ pid, parent, worked });

test("a process tree counts each descendant once, and no other process", () => {
  const processes = [
    process_(1, 0, 1000),
    process_(5, 1, 10),
    process_(6, 5, 20),
    process_(7, 6, 40),
    process_(9, 1, 500),
  ];
  expect(ticksOfTrees(processes, [5])).toBe(70);
  expect(ticksOfTrees(processes, [5, 6])).toBe(70);
  expect(ticksOfTrees(processes, [404])).toBe(0);
});

test.runIf(process.platform === "linux")("the kernel's files are read (on Linux)", () => {
  expect(readMachine().passed).toBeGreaterThan(0);
  expect(readProcesses().map(({ pid }) => pid)).toContain(process.pid);
  const { bytes, peakBytes } = memoryOf(process.pid);
  expect(peakBytes).toBeGreaterThanOrEqual(bytes);
  expect(bytes).toBeGreaterThan(1024 * 1024);
});
