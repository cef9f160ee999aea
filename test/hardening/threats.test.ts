import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readSpecTables } from "@svc/test-conformance/spec-table";
import { missingTests } from "@svc/test-conformance/written-tests";
import { expect, test } from "vitest";
import { mutations } from "./src/mutations/index.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const textOf = (path: string): string => readFileSync(`${root}${path}`, "utf8");

const rows = readSpecTables(textOf("THREATS.md")).map((row) => {
  const [kind = "", threat = "", , mutation = ""] = row.cells;
  return { ...row, kind, threat, mutation: mutation.replaceAll("`", "") };
});

test("every threat is of one kind of STRIDE, each of which there is", () => {
  expect(rows.length).toBeGreaterThanOrEqual(40);
  expect([...new Set(rows.map(({ kind }) => kind))].sort()).toEqual([..."DEIRST"]);
});

test("every threat names a mutation that takes its control out, and the test that kills it", () => {
  const unheld = rows.filter(({ mutation, tests }) => {
    const killedBy = mutations.find(({ name }) => name === mutation)?.killedBy;
    return !tests.some(({ file, name }) => file === killedBy?.file && name === killedBy.name);
  });
  expect(unheld.map(({ threat }) => threat)).toEqual([]);
});

test("every mutation belongs to a threat, and has a name of its own", () => {
  const named = rows.map(({ mutation }) => mutation);
  expect(mutations.map(({ name }) => name).filter((name) => !named.includes(name))).toEqual([]);
  expect(new Set(mutations.map(({ name }) => name)).size).toBe(mutations.length);
});

test("every test that is named exists under just this name, and is skipped for nothing that its name does not say", async () => {
  expect(await missingTests(rows, root, ({ file }) => `${root}${file}`)).toEqual([]);
});

test.each(mutations)(
  "what $name takes out stands exactly once, and is really changed",
  ({ file, text, replacement }) => {
    expect(textOf(file).split(text)).toHaveLength(2);
    expect(replacement).not.toBe(text);
  },
);
