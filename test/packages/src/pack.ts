import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const run = promisify(execFile);

export const workspace = fileURLToPath(new URL("../../../", import.meta.url));

/** The members of a package.json that are needed here. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly license?: string;
  readonly keywords?: readonly string[];
  readonly engines?: Readonly<Record<string, string>>;
  readonly files?: readonly string[];
  readonly repository?: { readonly url: string; readonly directory: string };
  readonly optionalDependencies?: Readonly<Record<string, string>>;
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

/**
 * The tarball that would be published, from the last build.
 * @param repository the address that the package names, which npm compares with the provenance
 */
async function pack(library: Library, into: string, repository?: string): Promise<Packed> {
  const { stdout } = await run("pnpm", ["pack", "--json", "--pack-destination", into], { cwd: library.folder });
  const { filename }: { filename: string } = JSON.parse(stdout);
  const directory = relative(workspace, library.folder);
  if (repository !== undefined) await addMember(filename, { repository: { type: "git", url: repository, directory } });
  const inside = await run("tar", ["-xzOf", filename, "package/package.json"]);
  const published: Manifest = JSON.parse(inside.stdout);
  return { ...library, tarball: filename, published, packedBytes: statSync(filename).size };
}

export const packAll = (into: string, repository?: string): Promise<readonly Packed[]> =>
  Promise.all([...libraries(), ...programs()].map((library) => pack(library, into, repository)));

/** Writes a member into the package.json of a tarball. */
async function addMember(tarball: string, member: object): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), "svc-pack-"));
  try {
    await run("tar", ["-xzf", tarball, "-C", work]);
    const file = join(work, "package/package.json");
    writeFileSync(file, `${JSON.stringify({ ...manifestOf(join(work, "package")), ...member }, null, 2)}\n`);
    await run("tar", ["-czf", tarball, "--owner=0", "--group=0", "--mtime=@0", "--sort=name", "-C", work, "package"]);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The named libraries and those of ours that they depend on. */
export function closureOf<Each extends Library>(names: readonly string[], among: readonly Each[]): readonly Each[] {
  const needed = new Set(names);
  // Grows while it is read: added libraries are visited as well.
  for (const name of needed) {
    const found = among.find(({ manifest }) => manifest.name === name);
    for (const each of Object.keys(found?.manifest.dependencies ?? {})) if (each.startsWith("@svc/")) needed.add(each);
  }
  return among.filter(({ manifest }) => needed.has(manifest.name));
}
