import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const run = promisify(execFile);

export const workspace = fileURLToPath(new URL("../../../", import.meta.url));

/** The members of a package.json that are needed here. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly bin?: Readonly<Record<string, string>>;
}

export interface Library {
  readonly folder: string;
  readonly manifest: Manifest;
}

export interface Packed extends Library {
  readonly tarball: string;
  /** The package.json inside the tarball, which a registry serves. */
  readonly published: Manifest;
  readonly packedBytes: number;
}

export const manifestOf = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/** Every package that programs import. */
export const libraries = (): readonly Library[] => publishedIn("packages");

/** Every program that is started by name. */
export const programs = (): readonly Library[] => publishedIn("apps");

function publishedIn(group: "packages" | "apps"): readonly Library[] {
  return readdirSync(join(workspace, group))
    .map((name) => join(workspace, group, name))
    .filter((folder) => existsSync(join(folder, "package.json")))
    .map((folder) => ({ folder, manifest: manifestOf(folder) }))
    .filter(({ manifest }) => manifest.private !== true);
}

/** Builds what is newer than its output, so that the tarball has the current sources. */
export async function build(): Promise<void> {
  const projects = [...libraries(), ...programs()].map(({ folder }) => folder);
  await run(join(workspace, "node_modules/.bin/tsc"), ["-b", ...projects], { cwd: workspace });
}

/** The tarball that would be published, from the last build. */
export async function pack(library: Library, into: string): Promise<Packed> {
  const { stdout } = await run("pnpm", ["pack", "--json", "--pack-destination", into], { cwd: library.folder });
  const { filename }: { filename: string } = JSON.parse(stdout);
  const inside = await run("tar", ["-xzOf", filename, "package/package.json"]);
  const published: Manifest = JSON.parse(inside.stdout);
  return { ...library, tarball: filename, published, packedBytes: statSync(filename).size };
}

export const packAll = (into: string): Promise<readonly Packed[]> =>
  Promise.all([...libraries(), ...programs()].map((library) => pack(library, into)));

/** The named libraries and those of ours that they depend on. */
export function closureOf(names: readonly string[], packed: readonly Packed[]): readonly Packed[] {
  const needed = new Set(names);
  // Grows while it is read: added libraries are visited as well.
  for (const name of needed) {
    const found = packed.find(({ manifest }) => manifest.name === name);
    for (const each of Object.keys(found?.manifest.dependencies ?? {})) if (each.startsWith("@svc/")) needed.add(each);
  }
  return packed.filter(({ manifest }) => needed.has(manifest.name));
}
