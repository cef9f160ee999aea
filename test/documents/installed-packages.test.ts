import { expect, test } from "vitest";
import { filesLike, read } from "./src/tree.ts";

const files = filesLike("{*.md,{docs,apps,packages,deploy,helm}/**/*.md,{apps,packages}/*/src/**/*.ts}");

/** As a shell reads it: lists of YAML and JSON without their marks. */
const words = (text: string): string => text.replaceAll(/["',[\]]/g, " ");

/** The packages that a text has `npx` download and run. */
const downloaded = (text: string): string[] =>
  [...words(text).matchAll(/\bnpx +(?:--?[a-z]+ +)*(?:-y|--yes) +(?:--package +)?(\S+)/g)].map(([, name = ""]) => name);

test("npx runs a package at a version, in every page and every text of a program", () => {
  const named = files.flatMap((file) => downloaded(read(file)).map((name) => `${file}: ${name}`));
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((each) => !/@\d+\.\d+\.\d+$/.test(each))).toEqual([]);
});
