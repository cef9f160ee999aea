import { expect, test } from "vitest";
import { filesLike, read } from "./src/tree.ts";

/** Without generated pages, history, and tables that quote titles of tests. */
const pages = filesLike("{*.md,{docs,apps,packages,deploy,helm}/**/*.md}").filter(
  (page) => !/(?:CHANGELOG|THREATS|API)\.md$/.test(page),
);

const vague = /\b(?:whoever|nobody|somebody|everybody|(?:is|are|was) told|what is asked|goes on|stands)\b/gi;

test("no page uses a vague word for a subject or an action", () => {
  const found = pages.flatMap((page) => [...read(page).matchAll(vague)].map(([word]) => `${page}: ${word}`));
  expect(found).toEqual([]);
});
