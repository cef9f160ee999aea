import { type CallArguments, classify, compileRules, type Rule, ruleList } from "../src/index.ts";

export const rules = (...when: readonly object[]): readonly Rule[] =>
  ruleList.parse(when.map((each, index) => ({ when: each, data_class: `class.${index}` })));

/** Whether one rule of these conditions holds for a call. */
export const holds = (when: object, call: CallArguments): boolean =>
  classify(compileRules(rules(when), undefined), call) === "class.0";

/** Whether a condition holds for a value at `/value`. */
export const holdsFor = (condition: object, value: unknown): boolean =>
  holds({ "/value": condition }, { json: value === undefined ? {} : { value } });
