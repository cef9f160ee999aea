import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { anchorsOf, type Link, relativeLinks } from "./src/markdown.ts";
import { filesLike, read, root } from "./src/tree.ts";

const pages = filesLike("**/*.md");
const anchors = new Map(pages.map((page) => [page, anchorsOf(read(page))]));

const targetOf = (page: string, { path }: Link): string => (path === "" ? page : normalize(join(dirname(page), path)));

function isDead(page: string, link: Link): boolean {
  const target = targetOf(page, link);
  if (!existsSync(join(root, target))) return true;
  return link.anchor !== undefined && anchors.get(target)?.has(link.anchor) !== true;
}

test.each(pages)("every relative link of %s leads to a file, and its anchor to a heading", (page) => {
  const dead = relativeLinks(read(page)).filter((link) => isDead(page, link));
  expect(dead).toEqual([]);
});

test("every page is reached by links from the README", () => {
  const reached = new Set(["README.md"]);
  for (const page of reached) {
    for (const link of relativeLinks(read(page))) {
      const target = targetOf(page, link);
      const index = join(target, "README.md");
      if (anchors.has(target)) reached.add(target);
      else if (anchors.has(index)) reached.add(index);
    }
  }
  const lost = pages.filter((page) => !reached.has(page) && !page.includes("/fixtures/"));
  expect(lost).toEqual([]);
});
