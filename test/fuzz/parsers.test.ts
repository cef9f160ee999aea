import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readSpecTables } from "@svc/test-conformance/spec-table";
import { missingTests } from "@svc/test-conformance/written-tests";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const rows = readSpecTables(readFileSync(`${root}test/fuzz/README.md`, "utf8"));

test("every parser in the table exists, and is listed once", () => {
  const files = rows.map(({ cells: [, file = ""] }) => file.replaceAll("`", ""));
  expect(files.length).toBeGreaterThan(25);
  expect(files.filter((file) => !existsSync(`${root}${file}`))).toEqual([]);
  expect(new Set(files).size).toBe(files.length);
});

test("every parser has a test, which exists under exactly that name, and is skipped only for a part in its name", async () => {
  expect(rows.filter(({ tests }) => tests.length === 0)).toEqual([]);
  expect(await missingTests(rows, root, ({ file }) => `${root}${file}`)).toEqual([]);
});
