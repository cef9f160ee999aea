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

test("every threat has one kind of STRIDE, and every kind has a threat", () => {
  expect(rows.length).toBeGreaterThanOrEqual(40);
  expect([...new Set(rows.map(({ kind }) => kind))].sort()).toEqual([..."DEIRST"]);
});

test("every threat names a mutation that removes its control, and the test that fails then", () => {
  const unheld = rows.filter(({ mutation, tests }) => {
    const killedBy = mutations.find(({ name }) => name === mutation)?.killedBy;
    return !tests.some(({ file, name }) => file === killedBy?.file && name === killedBy.name);
  });
  expect(unheld.map(({ threat }) => threat)).toEqual([]);
});

test("every mutation belongs to a threat, and has a unique name", () => {
  const named = rows.map(({ mutation }) => mutation);
  expect(mutations.map(({ name }) => name).filter((name) => !named.includes(name))).toEqual([]);
  expect(new Set(mutations.map(({ name }) => name)).size).toBe(mutations.length);
});

test("every named test exists under exactly that name, and is skipped only for a part in its name", async () => {
  expect(await missingTests(rows, root, ({ file }) => `${root}${file}`)).toEqual([]);
});

test.each(mutations)("the text that $name replaces occurs exactly once, and changes", ({ file, text, replacement }) => {
  expect(textOf(file).split(text)).toHaveLength(2);
  expect(replacement).not.toBe(text);
});
