import { type Clause, contradict, implies } from "./proofs.ts";
import type { Rule } from "./rules.ts";

/** A rule is named by its place in the list, from 1 on. */
export type RuleFinding =
  /** No call satisfies its conditions. */
  | { readonly kind: "unsatisfiable"; readonly rule: number }
  /** Every call that satisfies them satisfies those of the earlier rule `by`. */
  | { readonly kind: "subsumed"; readonly rule: number; readonly by: number }
  /** A call can satisfy both, and the classes differ: the earlier rule `by` decides. */
  | { readonly kind: "overlap"; readonly rule: number; readonly by: number };

/**
 * Rules that can never be the first that holds, and overlaps of rules with different classes. What it calls dead is
 * dead. Rules that are dead only because several earlier ones cover them together are not found, and an overlap of two
 * patterns may be empty.
 */
export function lintRules(list: readonly Rule[]): readonly RuleFinding[] {
  return list.flatMap((each, index): readonly RuleFinding[] => {
    const rule = index + 1;
    if (!canHold(each)) return [{ kind: "unsatisfiable", rule }];
    const earlier = list.slice(0, index).filter((one) => canHold(one));
    const subsuming = earlier.find((one) => isWithin(each, one));
    if (subsuming) return [{ kind: "subsumed", rule, by: list.indexOf(subsuming) + 1 }];
    return earlier
      .filter((one) => one.data_class !== each.data_class && canHold(one, each))
      .map((one) => ({ kind: "overlap", rule, by: list.indexOf(one) + 1 }));
  });
}

/** Not proven that no call satisfies all of them. */
function canHold(...rules: readonly Rule[]): boolean {
  const clauses: readonly Clause[] = rules.flatMap(({ when }) => Object.entries(when));
  return !clauses.some((clause) => clauses.some((other) => contradict(clause, other)));
}

/** Proven: every call that satisfies `rule` satisfies `other`. */
const isWithin = (rule: Rule, other: Rule): boolean =>
  Object.entries(other.when).every(([pointer, condition]) =>
    Object.entries(rule.when).some(
      ([own, ownCondition]) =>
        (own === pointer && implies(ownCondition, condition)) ||
        // Below what is absent everything is.
        (pointer.startsWith(`${own}/`) && ownCondition.absent === true && condition.absent === true),
    ),
  );
