import { blockCauses, denyReasons, explainedAt } from "@svc/core";
import { expect, test } from "vitest";
import { anchorsOf } from "./src/markdown.ts";
import { read } from "./src/tree.ts";

const page = read(["docs", "troubleshooting.md"].join("/"));
const why = [...denyReasons, ...blockCauses];

const sections = new Map(
  page
    .split(/^### /m)
    .slice(1)
    .map((section) => [/^`(\w+)`/.exec(section)?.[1] ?? "", section]),
);

test.each(why)("the link of an answer for %s leads to its section", (reason) => {
  const [path = "", anchor = ""] = explainedAt(reason).split("#");
  expect(anchorsOf(read(path))).toContain(anchor);
});

test.each(why)("the section about %s says what happened, how to see it, and what to do", (reason) => {
  const section = sections.get(reason) ?? "";
  for (const part of ["What happened", "See it", "Do"])
    expect(section).toMatch(new RegExp(`^- \\*\\*${part}:\\*\\* \\S`, "m"));
});

test("the page has a section for nothing else", () => {
  expect([...sections.keys()].toSorted()).toEqual(why.toSorted());
});

test("every command of the page is one of the command line", () => {
  const named = [...page.matchAll(/`(svc [a-z-]+(?: [a-z-]+)?)/g)].map(([, command = ""]) => command);
  const known = read("apps/cli/README.md");
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((command) => !known.includes(`\`${command}`))).toEqual([]);
});
