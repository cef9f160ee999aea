/** The two-point taint lattice, low to high (docs/reference/decision.md#effective-taint). */
export const taints = ["trusted_internal", "untrusted_external"] as const;
export type Taint = (typeof taints)[number];

export const highestTaint = (...levels: readonly Taint[]): Taint =>
  levels.includes("untrusted_external") ? "untrusted_external" : "trusted_internal";
