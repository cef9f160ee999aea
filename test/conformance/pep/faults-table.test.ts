import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type NamedTest, readSpecTables } from "../src/spec-table.ts";
import { missingTests } from "../src/written-tests.ts";
import { corpus } from "./corpus/index.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const rows = readSpecTables(readFileSync(here("README.md"), "utf8"));

/** One exchange of the corpus, which `wire.test.ts` sends under its own name. */
const isExchange = ({ file }: NamedTest): boolean => file.startsWith("corpus/");
const pathOf = ({ file }: NamedTest): string => here(file.includes("/") ? `../../../${file}` : file);

test("every row names a test", () => {
  expect(rows.length).toBeGreaterThan(50);
  expect(rows.filter(({ tests }) => tests.length === 0).map(({ cells }) => cells[0])).toEqual([]);
});

test("every named test exists under exactly that name, and is skipped only for a part in its name", async () => {
  const ofFiles = rows.map((row) => ({ ...row, tests: row.tests.filter((named) => !isExchange(named)) }));
  expect(await missingTests(ofFiles, here("../../.."), pathOf)).toEqual([]);
});

test("every named exchange is sent", () => {
  const sent = new Map(corpus.map(({ file, exchanges }) => [file, exchanges.map(({ name }) => name)]));
  const named = rows.flatMap(({ tests }) => tests).filter(isExchange);
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter(({ file, name }) => !sent.get(file)?.includes(name))).toEqual([]);
});

test("every numbered fault of the enforcement point has a row", () => {
  const numbers = rows
    .filter(({ section }) => section === "Cases")
    .map(({ cells }) => Number.parseInt(cells[0] ?? "", 10));
  expect(numbers).toEqual(Array.from({ length: 73 - 51 + 1 }, (_, n) => 51 + n));
});
