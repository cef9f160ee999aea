import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

export const foldersOnPath = (): string[] =>
  (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");

/** The first of these programs on the PATH. */
export const onPath = (...names: readonly string[]): string | undefined =>
  foldersOnPath()
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find(isExecutable);

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
