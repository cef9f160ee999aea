import { execFile } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const run = promisify(execFile);

export const workspace = fileURLToPath(new URL("../../../", import.meta.url));

/** As much of a package.json as is needed here. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, unknown>>;
}

export interface Library {
  readonly folder: string;
  readonly manifest: Manifest;
}

export interface Packed extends Library {
  readonly tarball: string;
  readonly packedBytes: number;
}

export const manifestOf = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** Every package that is published. */
export function libraries(): readonly Library[] {
  return readdirSync(join(workspace, "packages"))
    .map((name) => join(workspace, "packages", name))
    .map((folder) => ({ folder, manifest: manifestOf(folder) }))
    .filter(({ manifest }) => manifest.private !== true);
}

/** Builds what is newer than its output: what is packed is what was built. */
export async function build(): Promise<void> {
  const projects = libraries().map(({ folder }) => folder);
  await run(join(workspace, "node_modules/.bin/tsc"), ["-b", ...projects], { cwd: workspace });
}

/** The tarball that would be published, of what was last built. */
export async function pack(library: Library, into: string): Promise<Packed> {
  const { stdout } = await run("pnpm", ["pack", "--json", "--pack-destination", into], { cwd: library.folder });
  const { filename }: { filename: string } = JSON.parse(stdout);
  return { ...library, tarball: filename, packedBytes: statSync(filename).size };
}

export const packAll = (into: string): Promise<readonly Packed[]> =>
  Promise.all(libraries().map((library) => pack(library, into)));

/** The named libraries and those of ours that they depend on. */
export function closureOf(names: readonly string[], packed: readonly Packed[]): readonly Packed[] {
  const needed = new Set(names);
  // Grows while it is read: what is added is looked at as well.
  for (const name of needed) {
    const found = packed.find(({ manifest }) => manifest.name === name);
    for (const each of Object.keys(found?.manifest.dependencies ?? {})) if (each.startsWith("@svc/")) needed.add(each);
  }
  return packed.filter(({ manifest }) => needed.has(manifest.name));
}
