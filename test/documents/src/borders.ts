import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { read, root } from "./tree.ts";

/** One row of a border table of ARCHITECTURE.md: a folder, and the names in its second cell. */
export interface Border {
  readonly folder: string;
  readonly names: readonly string[];
}

const namesIn = (cell: string): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

/** The rows of the table whose second column has this heading. */
export function borderTable(heading: string): readonly Border[] {
  const lines = read("ARCHITECTURE.md").split("\n");
  const start = lines.findIndex((line) => line.startsWith("|") && line.split("|")[2]?.trim() === heading);
  const rows = lines.slice(start + 2);
  return rows
    .slice(
      0,
      Math.max(
        0,
        rows.findIndex((line) => !line.startsWith("|")),
      ),
    )
    .map((line) => {
      const [, folder = "", names = ""] = line.split("|");
      return { folder: namesIn(folder)[0] ?? "", names: namesIn(names) };
    });
}

export interface Import {
  readonly folder: string;
  readonly specifier: string;
}

/** Returns the imports that the linter restricts, each in its own file. */
export async function restrictedImports(imports: readonly Import[]): Promise<readonly Import[]> {
  const files = new Map(imports.map((each, index) => [`${each.folder}/border-${index}.ts`, each]));
  const texts = [...files].map(([path, { specifier }]) => [path, importOf(specifier)] as const);
  const restricted = await filesRefused("lint/style/noRestrictedImports", texts);
  return [...files].filter(([path]) => restricted.has(path)).map(([, each]) => each);
}

const importOf = (specifier: string): string => `import { name } from "${specifier}";\n\nexport const border = name;\n`;

/** Writes the files into a scratch copy of the linter's configuration; returns those that break `rule`. */
export async function filesRefused(
  rule: string,
  files: readonly (readonly [path: string, text: string])[],
): Promise<ReadonlySet<string>> {
  const scratch = mkdtempSync(join(tmpdir(), "svc-borders-"));
  try {
    for (const file of ["biome.json", "no-old-allocations.grit", ".gitignore"])
      cpSync(join(root, file), join(scratch, file));
    for (const [path, text] of files) {
      mkdirSync(join(scratch, dirname(path)), { recursive: true });
      writeFileSync(join(scratch, path), text);
    }
    const diagnostics = await lint(scratch);
    return new Set(diagnostics.filter(({ category }) => category === rule).map(({ location }) => location.path));
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

interface Diagnostic {
  readonly category: string;
  readonly location: { readonly path: string };
}

function lint(cwd: string): Promise<readonly Diagnostic[]> {
  const biome = join(root, "node_modules/@biomejs/biome/bin/biome");
  const args = [biome, "lint", "--reporter=json", "--max-diagnostics=none", "."];
  return new Promise((resolve, reject) => {
    // It exits with 1 when it reports something.
    execFile(process.execPath, args, { cwd, maxBuffer: 64 * 1024 * 1024 }, (_error, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout).diagnostics);
      } catch {
        reject(new Error(`the linter gave no report: ${stderr}`));
      }
    });
  });
}
