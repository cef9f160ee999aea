import { installDebianPackages } from "./debian-packages.ts";
import { howToGet, type PartName, parts } from "./parts.ts";

export const isThere = (name: PartName): boolean => parts[name].find() !== undefined;

/**
 * The path of a part, which is first installed where possible.
 * @throws where it is unavailable, with the reason and how to get it
 */
export function locate(name: PartName): string {
  const { find, purpose, package: debianPackage } = parts[name];
  const found = find();
  if (found !== undefined) return found;
  const reason = debianPackage && installDebianPackages([debianPackage]);
  const installed = find();
  if (installed !== undefined) return installed;
  throw new Error(`${name} is needed to ${purpose}: ${howToGet([name])}`, { cause: reason });
}
