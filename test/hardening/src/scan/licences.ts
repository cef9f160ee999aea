import type { ScanResult } from "./finding.ts";
import type { RunPnpm } from "./pnpm.ts";

/** Whoever ships this may link and pass on what is under these, as SPDX expressions are spelled by the packages. */
const allowed: ReadonlySet<string> = new Set([
  ...["Apache-2.0", "MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "BlueOak-1.0.0", "Unlicense", "Zlib"],
  ...["(MIT AND Zlib)", "(MIT OR GPL-3.0-or-later)"],
]);

/** Packages whose metadata name no licence, and where one stands instead. */
const readByHand: Readonly<Record<string, string>> = {
  // It points to a file that it does not ship; its README says MIT.
  "@modelcontextprotocol/server-everything": "SEE LICENSE IN LICENSE",
};

export type LicenceList = Readonly<Record<string, readonly { readonly name: string }[]>>;

/** One line for each package under a licence that is not on the list. */
export const unlicensed = (list: LicenceList): readonly string[] =>
  Object.entries(list)
    .filter(([licence]) => !allowed.has(licence))
    .flatMap(([licence, packages]) => packages.map(({ name }) => ({ name, licence })))
    .filter(({ name, licence }) => readByHand[name] !== licence)
    .map(
      ({ name, licence }) =>
        `${name} is under ${licence}: replace it, or allow the licence in licences.ts with the reason`,
    );

/** The licences of what apps and packages bring along in production, by pnpm's own list. */
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
