import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Child, startChild } from "@svc/test-support";
import { build } from "rolldown";

const pages = new URL("../../../docs/recipes/", import.meta.url);
/** That Debian installs libraries for. */
const python = "/usr/bin/python3";
const conditions = "--conditions=@svc/source";
/** Inside this package, so that a program finds the libraries. */
const folder = fileURLToPath(new URL("../node_modules/.cache/recipes/", import.meta.url));

/** The programs of a page, by the name in the comment before each. */
export function recipesOf(page: string): ReadonlyMap<string, string> {
  const text = readFileSync(new URL(page, pages), "utf8");
  const blocks = text.matchAll(/<!-- recipe: (\S+) -->\n```\w+\n([\s\S]*?)```/g);
  return new Map([...blocks].map(([, name = "", code = ""]) => [name, code]));
}

/** Starts a program as the page has it, with all of the page beside it. */
export async function startRecipe(page: string, name: string, env: Readonly<Record<string, string>>): Promise<Child> {
  const recipes = recipesOf(page);
  if (!recipes.has(name)) throw new Error(`${page} has no ${name}`);
  mkdirSync(folder, { recursive: true });
  for (const [file, code] of recipes) writeFileSync(join(folder, file), code);
  const file = join(folder, name);
  const [program, ...args] = name.endsWith(".py")
    ? [python, file]
    : [process.execPath, conditions, await runnable(file)];
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
