/** What one scan says. `unknown`: it could not look, which is no "nothing found". */
export type ScanResult =
  | { readonly kind: "clean"; readonly looked: string }
  | { readonly kind: "found"; readonly findings: readonly string[] }
  | { readonly kind: "unknown"; readonly why: string };

export const scanNames = ["advisories", "licences", "secrets"] as const;
export type ScanName = (typeof scanNames)[number];

/** 0 where every scan looked and found nothing, 1 where one found something, 2 where none did but one could not look. */
export function exitCodeOf(results: readonly ScanResult[]): 0 | 1 | 2 {
  if (results.some(({ kind }) => kind === "found")) return 1;
  return results.length === 0 || results.some(({ kind }) => kind === "unknown") ? 2 : 0;
}
