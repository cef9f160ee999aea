import type { Mutation } from "./mutation.ts";
import { isNamed, type Report } from "./report.ts";

/** `unproven`: the named test does not pass with the control in place, so its failing would prove nothing. */
export const outcomes = ["killed", "survived", "unproven"] as const;
export type Outcome = (typeof outcomes)[number];

/** @param whole what the named file's run said with everything in place */
export function judge({ killedBy }: Mutation, whole: Report, mutated: Report): Outcome {
  const isMeant = (fullName: string) => isNamed(fullName, killedBy.name);
  if (whole.failed.some(isMeant) || !whole.passed.some(isMeant)) return "unproven";
  return mutated.failed.some(isMeant) ? "killed" : "survived";
}
