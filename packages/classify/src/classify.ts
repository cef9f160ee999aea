import { type Test, testOf } from "./conditions.ts";
import { type CallArguments, isJsonPointer, type Reader, readerOf } from "./pointer.ts";
import type { Rule } from "./rules.ts";

interface Clause {
  readonly read: Reader;
  readonly holds: Test;
}

interface CompiledRule {
  readonly clauses: readonly Clause[];
  readonly dataClass: string;
}

export interface CompiledRules {
  /** As they were read. */
  readonly list: readonly Rule[];
  readonly rules: readonly CompiledRule[];
  /** Where no rule holds. */
  readonly otherwise: string | undefined;
  /** Every class that a call can get. */
  readonly classes: readonly string[];
  /** Some pointer leads into the JSON of the call. */
  readonly readsJson: boolean;
}

/** Done once, when a file is loaded. */
export function compileRules(list: readonly Rule[], otherwise: string | undefined): CompiledRules {
  const classes = new Set([
    ...list.map(({ data_class }) => data_class),
    ...(otherwise === undefined ? [] : [otherwise]),
  ]);
  return {
    list,
    rules: list.map(({ when, data_class: dataClass }) => ({
      clauses: Object.entries(when).map(([pointer, each]) => ({ read: readerOf(pointer), holds: testOf(each) })),
      dataClass,
    })),
    otherwise,
    classes: [...classes],
    readsJson: list.some(({ when }) => Object.keys(when).some(isJsonPointer)),
  };
}

/** The data class of the first rule that holds, all its conditions; undefined where the rules give the call none. */
export function classify({ rules, otherwise }: CompiledRules, call: CallArguments): string | undefined {
  for (const { clauses, dataClass } of rules) {
    if (clauses.every(({ read, holds }) => holds(read(call)))) return dataClass;
  }
  return otherwise;
}
