import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { createVitest } from "vitest/node";
import { readDocument } from "./src/document.ts";
import { deploymentForTests } from "./src/for-tests.ts";
import { type NamedTest, readSpecTables } from "./src/spec-table.ts";

const { api } = await deploymentForTests();
const { operations } = readDocument((await api.call("GET", "/openapi.json")).body);

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const rows = readSpecTables(readFileSync(here("README.md"), "utf8"));
const pathOf = ({ file }: NamedTest): string => here(file.includes("/") ? `../../${file}` : file);

// Their sources are read, not run: tests are known by name without their stacks.
const parser = await createVitest("test", { config: false, root: here("../.."), include: [], watch: false });
afterAll(() => parser.close());
const files = [...new Set(rows.flatMap(({ tests }) => tests.map(pathOf)))];
const project = parser.getRootProject();
const modules = await parser.parseSpecifications(files.map((file) => project.createSpecification(file)));
const written = new Map(
  modules.map((module) => [
    module.moduleId,
    [...module.children.allTests()].map(({ fullName, options }) => ({ fullName, mode: options.mode })),
  ]),
);

test("every row names a test", () => {
  expect(rows.length).toBeGreaterThan(150);
  expect(rows.filter(({ tests }) => tests.length === 0).map(({ cells }) => cells[0])).toEqual([]);
});

test("every test that is named exists under just this name, and is skipped for nothing that its name does not say", () => {
  const faults = rows.flatMap(({ tests }) => tests.flatMap((named) => faultOf(named)));
  expect([...new Set(faults)]).toEqual([]);
});

function faultOf(named: NamedTest): string[] {
  const { file, name } = named;
  const found = (written.get(pathOf(named)) ?? []).filter(
    ({ fullName }) => fullName === name || fullName.endsWith(` > ${name}`),
  );
  const names = new Set(found.map(({ fullName }) => fullName));
  if (names.size === 0) return [`${file} has no test "${name}"`];
  if (names.size > 1) return [`${file} has ${names.size} tests "${name}": name the group too`];
  const isSkipped = found.some(({ mode }) => mode !== "run") && !/\(needs .*\)/.test(name);
  return isSkipped ? [`${file}: "${name}" is skipped`] : [];
}

test("every route of the API document has a row", () => {
  const named = rows.filter(({ section }) => section === "Endpoints").map(({ cells }) => cells.join());
  const missing = operations.filter(({ name }) => !named.some((text) => text.includes(`\`${name}\``)));
  expect(missing.map(({ name }) => name)).toEqual([]);
});

test("every status and code of the API document has a row, and every row is of one", () => {
  const documented = operations.flatMap(({ refusals }) => refusals);
  // What meets no route at all is of no operation.
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
