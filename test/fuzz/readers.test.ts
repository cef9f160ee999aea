import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readSpecTables } from "@svc/test-conformance/spec-table";
import { missingTests } from "@svc/test-conformance/written-tests";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const rows = readSpecTables(readFileSync(`${root}test/fuzz/README.md`, "utf8"));

test("every reader is where the table says, and stands there once", () => {
  const files = rows.map(({ cells: [, file = ""] }) => file.replaceAll("`", ""));
  expect(files.length).toBeGreaterThan(25);
  expect(files.filter((file) => !existsSync(`${root}${file}`))).toEqual([]);
  expect(new Set(files).size).toBe(files.length);
});

test("every reader has a test, which exists under just this name, and is skipped for nothing that its name does not say", async () => {
  expect(rows.filter(({ tests }) => tests.length === 0)).toEqual([]);
  expect(await missingTests(rows, root, ({ file }) => `${root}${file}`)).toEqual([]);
});
