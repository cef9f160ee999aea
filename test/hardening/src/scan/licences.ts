import type { ScanResult } from "./finding.ts";
import type { RunPnpm } from "./pnpm.ts";

/** Licences that a distributor may link and pass on, in the packages' SPDX spelling. */
const allowed: ReadonlySet<string> = new Set([
  ...["Apache-2.0", "MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "BlueOak-1.0.0", "Unlicense", "Zlib"],
  ...["(MIT AND Zlib)", "(MIT OR GPL-3.0-or-later)"],
]);

/** Packages without a licence in their metadata, where they state one, and others with the reason. */
const readByHand: Readonly<Record<string, string>> = {
  // It names a file that it does not ship; its README says MIT.
  "@modelcontextprotocol/server-everything": "SEE LICENSE IN LICENSE",
  // Python's own, for a port of its standard library: it asks for the notice alone. Behind the reader of references.
  argparse: "PSF-2.0",
};

export type LicenceList = Readonly<Record<string, readonly { readonly name: string }[]>>;

/** One line for each package under an unlisted licence. */
export const unlicensed = (list: LicenceList): readonly string[] =>
  Object.entries(list)
    .filter(([licence]) => !allowed.has(licence))
    .flatMap(([licence, packages]) => packages.map(({ name }) => ({ name, licence })))
    .filter(({ name, licence }) => readByHand[name] !== licence)
    .map(
      ({ name, licence }) =>
        `${name} is under ${licence}: replace it, or allow the licence in licences.ts with the reason`,
    );

/** The licences of the production dependencies of apps and packages, by pnpm's own list. */
export async function scanLicences(pnpm: RunPnpm): Promise<ScanResult> {
  const filters = ["--filter", "./apps/*", "--filter", "./packages/*"];
  const { code, stdout, stderr } = await pnpm([...filters, "licenses", "list", "--prod", "--json"]);
  if (code !== 0) return { kind: "unknown", why: `pnpm did not list the licences: ${firstLine(stderr || stdout)}` };
  const list: LicenceList = JSON.parse(stdout);
  const findings = unlicensed(list);
  if (findings.length > 0) return { kind: "found", findings };
  return { kind: "clean", looked: `${Object.values(list).flat().length} packages` };
}

const firstLine = (text: string): string => text.trim().split("\n", 1)[0] ?? "";
