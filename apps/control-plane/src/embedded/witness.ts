import type { WitnessMemory } from "../ports/witness.ts";

/** The memory of a single process: it tells of a database that is taken back while the process runs, and of no other. */
export function embeddedWitness(): WitnessMemory {
  const counts = new Map<string, bigint>();
  const seen = (deployment: string): bigint => counts.get(deployment) ?? 0n;
  return {
    seen: async (deployment) => seen(deployment),
    async keep({ deployment, count }) {
      if (count > seen(deployment)) counts.set(deployment, count);
    },
  };
}
