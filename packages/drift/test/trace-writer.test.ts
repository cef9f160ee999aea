import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openTraceWriter } from "../src/trace-writer.ts";
import { aFolder } from "./support/edges.ts";

const noFault = (error: unknown) => {
  throw error;
};

test("at exit, lines of an unfinished background write are written again", () => {
  const file = join(aFolder(), "trace");
  const writer = openTraceWriter(file, noFault, { write: () => {} });
  writer.append("one\n");
  writer.append("two\n");
  writer.appendNow("end\n");
  expect(readFileSync(file, "utf8")).toBe("\none\ntwo\nend\n");
});

test("an incomplete line does not damage later lines", () => {
  const file = join(aFolder(), "trace");
  const half = (fd: number, bytes: Uint8Array) => void writeSync(fd, bytes.subarray(0, 2));
  const writer = openTraceWriter(file, noFault, { write: half });
  writer.append("one\n");
  writer.appendNow("end\n");
  expect(readFileSync(file, "utf8").split("\n")).toEqual(["on", "one", "end", ""]);
});
