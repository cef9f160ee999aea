import { expect, test } from "vitest";
import { anchorsOf } from "./src/markdown.ts";
import { filesLike, read } from "./src/tree.ts";

const sources = [
  ...filesLike("{apps,packages,deploy,test,helm}/**/*.{ts,js,sql,yaml,tpl,sh}"),
  ...filesLike("packages/*/API.md"),
];
const anchors = new Map(filesLike("docs/**/*.md").map((page) => [page, anchorsOf(read(page))]));

const citation = /\bdocs\/[\w./-]+\.md(?:#[\w-]*)?/g;
const citations = sources.flatMap((file) => [...read(file).matchAll(citation)].map(([cited]) => ({ file, cited })));

test("every citation of a document names a page and an anchor of it", () => {
  const dead = citations.filter(({ cited }) => {
    const [page = "", anchor = ""] = cited.split("#");
    return anchors.get(page)?.has(anchor) !== true;
  });
  expect(dead).toEqual([]);
  expect(citations.length).toBeGreaterThan(100);
});

test("no comment cites a document that is not in the repository", () => {
  const old = new RegExp(`\\((?:${["contract", "specification"].join("|")}):`);
  expect(sources.filter((file) => old.test(read(file)))).toEqual([]);
});
