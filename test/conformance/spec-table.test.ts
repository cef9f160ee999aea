import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readDocument } from "./src/document.ts";
import { deploymentForTests } from "./src/for-tests.ts";
import { type NamedTest, readSpecTables } from "./src/spec-table.ts";
import { missingTests } from "./src/written-tests.ts";

const { api } = await deploymentForTests();
const { operations } = readDocument((await api.call("GET", "/openapi.json")).body);

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const rows = readSpecTables(readFileSync(here("README.md"), "utf8"));
const pathOf = ({ file }: NamedTest): string => here(file.includes("/") ? `../../${file}` : file);

const missing = await missingTests(rows, here("../.."), pathOf);

test("every row names a test", () => {
  expect(rows.length).toBeGreaterThan(150);
  expect(rows.filter(({ tests }) => tests.length === 0).map(({ cells }) => cells[0])).toEqual([]);
});

test("every named test exists under exactly that name, and is skipped only for a part in its name", () => {
  expect(missing).toEqual([]);
});

test("every route of the API document has a row", () => {
  const named = rows.filter(({ section }) => section === "Endpoints").map(({ cells }) => cells.join());
  const unnamed = operations.filter(({ name }) => !named.some((text) => text.includes(`\`${name}\``)));
  expect(unnamed.map(({ name }) => name)).toEqual([]);
});

test("every status and code of the API document has a row, and every row has one in the document", () => {
  const documented = operations.flatMap(({ refusals }) => refusals);
  // A request to an unknown route has no operation.
  const unrouted = ["404 route_not_found", "405 method_not_allowed"];
  const inRows = rows
    .filter(({ section, cells }) => section === "Errors" && cells.length === 4)
    .map(({ cells: [, status, code] }) => `${status} ${code?.replaceAll("`", "")}`);
  expect([...new Set(inRows)].sort()).toEqual([...new Set([...documented, ...unrouted])].sort());
});

test("every numbered fault of the control plane has a row", () => {
  const numbers = rows
    .filter(({ section }) => section === "Faults")
    .map(({ cells }) => Number.parseInt(cells[0] ?? "", 10));
  const between = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, n) => first + n);
  expect(numbers.filter((number) => !Number.isNaN(number))).toEqual([...between(1, 25), ...between(35, 50)]);
});
