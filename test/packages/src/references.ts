import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { workspace } from "./pack.ts";

/** A project of the type checker: the folder of a `tsconfig.json`, relative to the workspace. */
interface Project {
  readonly folder: string;
  readonly references: readonly string[];
  /** False where it is only checked: its importers then read its sources. */
  readonly emits: boolean;
  readonly imports: ReadonlySet<string>;
}

/** A project's imports, and the projects that must be built before it without a reference. */
export interface Unordered {
  readonly project: string;
  readonly missing: readonly string[];
}

const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: workspace });
const files = [...new Set(listed.toString().split("\n"))].filter((file) => file && existsSync(join(workspace, file)));
const read = (file: string) => JSON.parse(readFileSync(join(workspace, file), "utf8"));

const folders = files.filter((file) => file.endsWith("/tsconfig.json")).map(dirname);
const folderOf = new Map<string, string>(
  files.filter((file) => file.endsWith("/package.json")).map((file) => [read(file).name, dirname(file)]),
);

const importing = /(?:from |import\()"(@svc\/[a-z-]+)/g;

function toProject(folder: string): Project {
  const { references = [], compilerOptions = {}, include = ["."] } = read(join(folder, "tsconfig.json"));
  const nested = folders.filter((other) => other.startsWith(`${folder}/`));
  const isOwn = (file: string): boolean =>
    file.endsWith(".ts") &&
    include.some((pattern: string) => file.startsWith(join(folder, pattern.replace(/\/?\*.*$/, "")))) &&
    file.startsWith(`${folder}/`) &&
    !nested.some((other) => file.startsWith(`${other}/`));
  const texts = files.filter(isOwn).map((file) => readFileSync(join(workspace, file), "utf8"));
  return {
    folder,
    references: references.map(({ path }: { path: string }) => join(folder, path)),
    emits: compilerOptions.noEmit !== true,
    imports: new Set(texts.flatMap((text) => Array.from(text.matchAll(importing), ([, name = ""]) => name))),
  };
}

const projects = new Map(folders.map((folder) => [folder, toProject(folder)]));

function projectOf(name: string): Project | undefined {
  const folder = folderOf.get(name);
  return folder === undefined ? undefined : (projects.get(folder) ?? projects.get(join(folder, "src")));
}

/** Every project whose declarations this one reads, also through imported sources. */
function builtBefore(start: Project): readonly string[] {
  const seen = new Set([start]);
  const built: string[] = [];
  for (const project of seen) {
    for (const name of project.imports) {
      const imported = projectOf(name);
      if (imported === undefined || seen.has(imported)) continue;
      if (!imported.emits) seen.add(imported);
      else if (imported !== start) built.push(imported.folder);
    }
  }
  return [...new Set(built)];
}

function referred(start: Project): ReadonlySet<string> {
  const seen = new Set(start.references);
  for (const folder of seen) for (const next of projects.get(folder)?.references ?? []) seen.add(next);
  return seen;
}

/** Projects that a parallel build may check before their imports are built. */
export function unordered(): readonly Unordered[] {
  return [...projects.values()].flatMap((project) => {
    const known = referred(project);
    const missing = builtBefore(project).filter((folder) => !known.has(folder));
    return missing.length === 0 ? [] : [{ project: project.folder, missing }];
  });
}
