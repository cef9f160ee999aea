import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

export interface ContentFile {
  /** Below the folder, with slashes. */
  readonly path: string;
  readonly bytes: number;
  /** Hexadecimal SHA-256. */
  readonly sha256: string;
}

/** Every file below a folder, by path. @throws for other entries: a link could lead out of an image */
export function contentOf(folder: string): readonly ContentFile[] {
  return filesBelow(folder).map((path) => {
    const content = readFileSync(join(folder, path));
    return { path, bytes: content.length, sha256: createHash("sha256").update(content).digest("hex") };
  });
}

/** The sorted paths below a folder for which `isKept` holds. */
export function filesBelow(folder: string, isKept: (path: string) => boolean = () => true): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => ({ entry, path: relative(folder, join(entry.parentPath, entry.name)) }))
    .filter(({ path }) => isKept(path))
    .map(({ entry, path }) => {
      if (!entry.isFile()) throw new Error(`${path} is neither a file nor a folder`);
      return path;
    })
    .toSorted();
}
