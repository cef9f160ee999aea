import { readFileSync } from "node:fs";
import { join } from "node:path";
import { workspace } from "./pack.ts";

/** The blocks of a page that a reader saves, types or compares, by the name in the comment before each. */
export function blocksOf(page: string): ReadonlyMap<string, string> {
  const text = readFileSync(join(workspace, page), "utf8");
  const blocks = text.matchAll(/^( *)<!-- quickstart: (\S+) -->\n\1```\w+\n([\s\S]*?)^\1```/gm);
  return new Map([...blocks].map(([, indent = "", name = "", code = ""]) => [name, withoutIndent(code, indent)]));
}

const withoutIndent = (code: string, indent: string): string => code.replaceAll(new RegExp(`^${indent}`, "gm"), "");

/** Those of a package's README. */
export const quickstarts = (name: string): ReadonlyMap<string, string> => blocksOf(join("packages", name, "README.md"));
