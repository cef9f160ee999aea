import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Packed, run } from "./pack.ts";
import { startRegistry } from "./registry.ts";

export interface ApplicationOptions {
  /** Must not exist. */
  readonly folder: string;
  /** Our packages in the registry, `installed` or not. */
  readonly packed: readonly Packed[];
  /** Names of packages, ours and others'. */
  readonly installed: readonly string[];
}

/** An empty plain JavaScript project into which packages are installed by name. */
export async function installApplication({ folder, packed, installed }: ApplicationOptions): Promise<void> {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "application", private: true, type: "module" }));
  const registry = await startRegistry(packed, folder);
  try {
    // Its own cache: the machine's may have other packages under these names.
    const flags = ["--registry", registry.url, "--cache", join(folder, ".npm"), "--no-audit", "--no-fund"];
    await run("npm", ["install", ...flags, ...installed], { cwd: folder });
  } finally {
    registry.close();
  }
}

interface Copy {
  readonly name: string;
  readonly folder: string;
}

/** A library's declared dependencies besides our own packages, from this workspace. */
export const thirdParties = ({ folder, manifest }: Pick<Packed, "folder" | "manifest">): readonly Copy[] =>
  Object.keys(manifest.dependencies ?? {})
    .filter((name) => !name.startsWith("@svc/"))
    .map((name) => ({ name, folder: realpathSync(join(folder, "node_modules", name)) }));
