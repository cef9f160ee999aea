import { readFileSync } from "node:fs";
import { join } from "node:path";
import { workspace } from "./pack.ts";

/** The blocks of a package's README that a reader saves or compares, by the name in the comment before each. */
export function quickstarts(name: string): ReadonlyMap<string, string> {
  const readme = readFileSync(join(workspace, "packages", name, "README.md"), "utf8");
  const blocks = readme.matchAll(/<!-- quickstart: (\S+) -->\n```\w+\n([\s\S]*?)```/g);
  return new Map([...blocks].map(([, file = "", text = ""]) => [file, text]));
}
