import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../../", import.meta.url));

const generated = new Set(["node_modules", "dist", ".cache", ".svc-data", "coverage"]);

/** Files of the repository that match, by path from its root, without installed or built ones. */
export const filesLike = (pattern: string): readonly string[] =>
  globSync(pattern, { cwd: root, exclude: (path) => generated.has(path.split("/").at(-1) ?? "") }).sort();

export const read = (path: string): string => readFileSync(join(root, path), "utf8");
