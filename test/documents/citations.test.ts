import { expect, test } from "vitest";
import { anchorsOf } from "./src/markdown.ts";
import { filesLike, read } from "./src/tree.ts";

/** A released migration is never edited, so its comments stay. */
const isMigration = (file: string): boolean => file.includes("/migrations/");

const sources = [
  ...filesLike("{apps,packages,deploy,test,helm}/**/*.{ts,js,sql,yaml,tpl,sh}").filter((file) => !isMigration(file)),
  ...filesLike("packages/*/API.md"),
];
const anchors = new Map(filesLike("docs/**/*.md").map((page) => [page, anchorsOf(read(page))]));

/** An anchor that code computes has a test of its own. */
const citation = /\bdocs\/[\w./-]+\.md(?!#\$)(?:#[\w-]*)?/g;
const citations = sources.flatMap((file) => [...read(file).matchAll(citation)].map(([cited]) => ({ file, cited })));

/** A decision record is cited whole, a page of the reference by its anchor. */
function isDead(cited: string): boolean {
  const [page = "", anchor] = cited.split("#");
  const known = anchors.get(page);
  return anchor === undefined ? !page.startsWith("docs/adr/") || !known : !known?.has(anchor);
}

test("every citation of a document names a page and an anchor of it", () => {
  const dead = citations.filter(({ cited }) => isDead(cited));
  expect(dead).toEqual([]);
  expect(citations.length).toBeGreaterThan(100);
});

test("no comment cites a document that is not in the repository", () => {
  const old = new RegExp(`\\((?:${["contract", "specification"].join("|")}):`);
  expect(sources.filter((file) => old.test(read(file)))).toEqual([]);
});
