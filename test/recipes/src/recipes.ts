import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Child, startChild } from "@svc/test-support";

const pages = new URL("../../../docs/recipes/", import.meta.url);
/** That Debian installs libraries for. */
const python = "/usr/bin/python3";
/** Inside this package, so that a program finds the libraries. */
const folder = fileURLToPath(new URL("../node_modules/.cache/recipes/", import.meta.url));

/** The programs of a page, by the name in the comment before each. */
export function recipesOf(page: string): ReadonlyMap<string, string> {
  const text = readFileSync(new URL(page, pages), "utf8");
  const blocks = text.matchAll(/<!-- recipe: (\S+) -->\n```\w+\n([\s\S]*?)```/g);
  return new Map([...blocks].map(([, name = "", code = ""]) => [name, code]));
}

/** Starts a program as the page has it, with all of the page beside it. */
export function startRecipe(page: string, name: string, env: Readonly<Record<string, string>>): Child {
  const recipes = recipesOf(page);
  if (!recipes.has(name)) throw new Error(`${page} has no ${name}`);
  mkdirSync(folder, { recursive: true });
  for (const [file, code] of recipes) writeFileSync(join(folder, file), code);
  const file = join(folder, name);
  const [program, ...args] = name.endsWith(".py")
    ? [python, file]
    : [process.execPath, "--conditions=@svc/source", file];
  return startChild(program, args, { env: { PATH: process.env.PATH ?? "", ...env } });
}
