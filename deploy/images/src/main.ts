import { existsSync, mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { contentOf } from "./content.ts";
import { buildTree, isProgram, programs } from "./tree.ts";

const help = `image-tree: build the folders that the images contain, from a built workspace. The Dockerfile runs the same command.

Usage:
  pnpm image-tree --out FOLDER [PROGRAM...]    PROGRAM: ${programs.join(", ")}; default: all

Examples:
  pnpm build && pnpm image-tree --out trees
  pnpm image-tree --out trees pep
`;

const workspace = fileURLToPath(new URL("../../../", import.meta.url));

function fail(fault: string): never {
  process.stderr.write(`${fault}\n\n${help}`);
  process.exit(2);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: "string" }, help: { type: "boolean", short: "h" } },
});
if (values.help) {
  process.stdout.write(help);
  process.exit(0);
}
if (values.out === undefined) fail("--out is missing: name the folder for the trees.");
mkdirSync(values.out, { recursive: true });
for (const name of positionals.length === 0 ? programs : positionals) {
  if (!isProgram(name)) fail(`There is no program "${name}".`);
  const out = resolve(values.out, name);
  if (existsSync(out)) fail(`${out} exists: name another folder, or remove it.`);
  try {
    await buildTree({ program: name, workspace, out });
  } catch (error) {
    process.stderr.write(
      `building the tree of ${name} failed: ${error instanceof Error ? error.message : String(error)}\n`,
    );
    process.exit(1);
  }
  process.stdout.write(`${reportOf(name, out)}\n`);
}

function reportOf(name: string, folder: string): string {
  const files = contentOf(folder);
  const mib = (chosen: typeof files) =>
    `${(chosen.reduce((sum, { bytes }) => sum + bytes, 0) / 2 ** 20).toFixed(1)} MiB`;
  const ours = files.filter(({ path }) => !path.startsWith("node_modules/") || path.startsWith("node_modules/@svc/"));
  return `${name.padEnd(14)} ${String(files.length).padStart(5)} files  ${mib(files).padStart(9)}, of which ours ${mib(ours)}  ${folder}`;
}
