import type { Mutation } from "./mutation.ts";
import { isNamed, type Report } from "./report.ts";

/**
 * `unproven`: the named test does not pass with the control in place, or does not run without it, as where the run
 * hangs or a file no longer loads. Neither shows that the test notices.
 */
export const outcomes = ["killed", "survived", "unproven"] as const;
export type Outcome = (typeof outcomes)[number];

/** @param unchanged the report of the named tests' run with the control in place */
export function judge({ killedBy }: Mutation, unchanged: Report, mutated: Report): Outcome {
  const isMeant = (fullName: string) => isNamed(fullName, killedBy.name);
  if (unchanged.failed.some(isMeant) || !unchanged.passed.some(isMeant)) return "unproven";
  if (mutated.failed.some(isMeant)) return "killed";
  return mutated.passed.some(isMeant) ? "survived" : "unproven";
}
