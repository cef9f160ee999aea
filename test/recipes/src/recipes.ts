import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Child, startChild } from "@svc/test-support";
import { build } from "rolldown";

const pages = new URL("../../../docs/recipes/", import.meta.url);
/** That Debian installs libraries for. */
const debianPython = "/usr/bin/python3";
const conditions = "--conditions=@svc/source";
/** Inside this package, so that a program finds the libraries. */
const cache = fileURLToPath(new URL("../node_modules/.cache/recipes/", import.meta.url));

/** The programs of a page, by the name in the comment before each. */
export function recipesOf(page: string): ReadonlyMap<string, string> {
  const text = readFileSync(new URL(page, pages), "utf8");
  const blocks = text.matchAll(/<!-- recipe: (\S+) -->\n```\w+\n([\s\S]*?)```/g);
  return new Map([...blocks].map(([, name = "", code = ""]) => [name, code]));
}

export interface RecipePlace {
  /** Where its libraries are found. */
  readonly folder?: string;
  readonly python?: string | undefined;
}

/** A program as the page has it, with all of the page beside it. @returns its command line */
export async function placeRecipe(page: string, name: string, place: RecipePlace = {}): Promise<readonly string[]> {
  const { folder = cache, python = debianPython } = place;
  const recipes = recipesOf(page);
  if (!recipes.has(name)) throw new Error(`${page} has no ${name}`);
  for (const [path, code] of recipes) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), code);
  }
  const file = join(folder, name);
  return name.endsWith(".py") ? [python, file] : [process.execPath, conditions, await runnable(file)];
}

/** Starts a program of a page. */
export async function startRecipe(
  page: string,
  name: string,
  env: Readonly<Record<string, string>>,
  place?: RecipePlace,
): Promise<Child> {
  const [program = "", ...args] = await placeRecipe(page, name, place);
  return startChild(program, args, { env: { PATH: process.env.PATH ?? "", ...env } });
}

/** Node runs TypeScript without decorators alone. */
async function runnable(file: string): Promise<string> {
  if (!file.endsWith(".ts")) return file;
  const compiled = file.replace(/ts$/, "compiled.mjs");
  await build({
    input: file,
    external: (id) => !id.startsWith("/") && !id.includes("@oxc-project"),
    transform: { decorator: { legacy: true, emitDecoratorMetadata: true } },
    output: { file: compiled },
    logLevel: "silent",
  });
  return compiled;
}
