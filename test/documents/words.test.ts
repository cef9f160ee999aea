import { expect, test } from "vitest";
import { filesLike, read } from "./src/tree.ts";

/** Without generated pages, and history. */
const pages = filesLike("{*.md,{docs,apps,packages,deploy,helm,test}/**/*.md}").filter(
  (page) => !/(?:CHANGELOG|API)\.md$/.test(page),
);

/** Rows of tables that quote titles are left out. */
const withoutTitles = (text: string): string => text.replace(/^\|.*\.test\.ts`: .*$/gm, "");

const vague = /\b(?:whoever|nobody|somebody|everybody|(?:is|are|was) told|what is asked|goes on|stands)\b/gi;

test("no page uses a vague word for a subject or an action", () => {
  const found = pages.flatMap((page) =>
    [...withoutTitles(read(page)).matchAll(vague)].map(([word]) => `${page}: ${word}`),
  );
  expect(found).toEqual([]);
});

test("no title of a test uses a vague word for a subject or an action", () => {
  const found = filesLike("{apps,packages,test}/**/*.test.ts").flatMap((file) =>
    titlesIn(read(file)).flatMap((title) => (title.match(vague) ?? []).map((word) => `${file}: ${word}: ${title}`)),
  );
  expect(found).toEqual([]);
});

/** Titles of `describe` and `test`, also those after a table. */
const titlesIn = (source: string): string[] =>
  [...source.matchAll(/(?:\b(?:describe|test)[\w.]*\(|\]\)\(|\)\()\s*(["`])((?:(?!\1|\n).)+)\1,/g)].map(
    ([, , title = ""]) => title,
  );
