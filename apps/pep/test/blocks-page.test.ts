import { readFileSync } from "node:fs";
import { admittedBy, blockCauses } from "@svc/core";
import { expect, test } from "vitest";
import { blockTable } from "../src/protocols/blocks.ts";

const page = readFileSync(new URL("reference/blocks.md", new URL("../../../docs/", import.meta.url)), "utf8");

/** The cells of the rows of the table whose header begins with this cell. */
function rowsUnder(first: string): string[][] {
  const lines = page.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`| ${first} `));
  const end = lines.indexOf("", start);
  return lines.slice(start + 2, end).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

test("the page lists every way a call is blocked, with the code's own text and remedy", () => {
  const rows = Object.entries(blockTable).map(([reason, { cause, status, text, remedy }]) => [
    `\`${reason}\``,
    `\`${cause}\``,
    String(status),
    text,
    remedy,
  ]);
  expect(rowsUnder("reason")).toEqual(rows);
});

test("the page lists what admits each deny", () => {
  expect(rowsUnder("deny reason")).toEqual(Object.entries(admittedBy).map(([reason, text]) => [`\`${reason}\``, text]));
});

test("every cause has a text of its own, and no two ways share one", () => {
  const rows = Object.values(blockTable);
  expect(new Set(rows.map(({ cause }) => cause))).toEqual(new Set(blockCauses));
  expect(new Set(rows.map(({ text }) => text)).size).toBe(rows.length);
});
