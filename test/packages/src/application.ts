import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Packed, run } from "./pack.ts";

export interface ApplicationOptions {
  /** Must not exist. */
  readonly folder: string;
  /** Installed together, since each names the others by their versions, which no registry has yet. */
  readonly packed: readonly Packed[];
  /**
   * Takes what the libraries depend on, which must depend on nothing further, from this workspace's own copies: no
   * registry is asked. What a library does not declare is missing all the same.
   */
  readonly isOffline: boolean;
  /** Further packages of this workspace that the application uses, by name. */
  readonly extras?: readonly string[];
}

/** An empty project in plain JavaScript into which libraries are installed from their tarballs. */
export async function installApplication(options: ApplicationOptions): Promise<void> {
  const { folder, packed, isOffline, extras = [] } = options;
  mkdirSync(folder);
  const ours = Object.fromEntries(packed.map(({ manifest, tarball }) => [manifest.name, `file:${tarball}`]));
  const theirs = isOffline ? packed.flatMap(thirdParties) : [];
  const copies = Object.fromEntries(await tarballsOf(theirs, folder));
  const added = Object.fromEntries(await tarballsOf(extras.map(installed), folder));
  const description = {
    name: "application",
    private: true,
    type: "module",
    dependencies: { ...ours, ...added },
    overrides: { ...copies, ...ours },
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(description, null, 2));
  const offline = isOffline ? ["--offline"] : [];
  await run("npm", ["install", "--no-audit", "--no-fund", "--legacy-peer-deps", ...offline], { cwd: folder });
}

interface Copy {
  readonly name: string;
  readonly folder: string;
}

/** What a library declares besides our own packages, where this workspace has it. */
export const thirdParties = ({ folder, manifest }: Pick<Packed, "folder" | "manifest">): readonly Copy[] =>
  Object.keys(manifest.dependencies ?? {})
    .filter((name) => !name.startsWith("@svc/"))
    .map((name) => ({ name, folder: realpathSync(join(folder, "node_modules", name)) }));

const installed = (name: string): Copy => ({
  name,
  folder: realpathSync(new URL(`../node_modules/${name}`, import.meta.url)),
});

/** By name the specifier of a tarball of each copy: npm takes folders for direct dependencies only. */
const tarballsOf = (copies: readonly Copy[], into: string): Promise<[name: string, specifier: string][]> =>
  Promise.all(
    [...new Map(copies.map((copy) => [copy.name, copy])).values()].map(async ({ name, folder }) => {
      const tarball = join(into, `${name.replaceAll(/[@/]/g, "-")}.tgz`);
      await run("tar", [
        "-czf",
        tarball,
        "--exclude=node_modules",
        "--hard-dereference",
        "--transform=s,^\\.,package,",
        "-C",
        folder,
        ".",
      ]);
      return [name, `file:${tarball}`];
    }),
  );
