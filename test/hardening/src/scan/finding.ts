/** The result of one scan. `unknown`: it could not run, which is not clean. */
export type ScanResult =
  | { readonly kind: "clean"; readonly looked: string }
  | { readonly kind: "found"; readonly findings: readonly string[] }
  | { readonly kind: "unknown"; readonly why: string };

export const scanNames = ["advisories", "licences", "secrets"] as const;
export type ScanName = (typeof scanNames)[number];

/** 0 where every scan ran and found nothing, 1 where one found something, 2 where none did but one could not run. */
export function exitCodeOf(results: readonly ScanResult[]): 0 | 1 | 2 {
  if (results.some(({ kind }) => kind === "found")) return 1;
  return results.length === 0 || results.some(({ kind }) => kind === "unknown") ? 2 : 0;
}
