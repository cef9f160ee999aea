import { asRoot, installDebianPackages } from "./debian-packages.ts";
import { isThere } from "./locate.ts";
import { howToGet, partNames, parts } from "./parts.ts";

/**
 * Installs the parts that tests need and this machine lacks, and prints what and why. A part that cannot be installed
 * is no failure here: the tests that need it are skipped by name, or fail in CI.
 */
export function installMissingParts(print: (line: string) => void, install = installDebianPackages): void {
  const missing = partNames.filter(
    (name) => parts[name].package !== undefined && !parts[name].onDemand && !isThere(name),
  );
  if (missing.length === 0) return;
  const wanted = missing.map((name) => `${name} (to ${parts[name].purpose})`).join(", ");
  print(`${asRoot() === undefined ? "Missing" : "Installing with apt-get"}: ${wanted}`);
  const reason = install(missing.flatMap((name) => parts[name].package ?? []));
  const left = missing.filter((name) => !isThere(name));
  if (left.length === 0) return;
  print(`Not installed: ${left.join(", ")}; ${reason ?? "the packages did not bring them"}.`);
  print(`Tests that need them are skipped. To run them: ${howToGet(left)}`);
}
