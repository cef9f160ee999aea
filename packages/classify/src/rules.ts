import { dataClass } from "@svc/core";
import { RE2JS } from "re2js";
import { z } from "zod";
import { hostName } from "./host.ts";
import { pointer } from "./pointer.ts";
import { pathPrefix } from "./prefix.ts";

const text = z.string().refine((value) => value.isWellFormed(), "must be well-formed Unicode");
const limit = z
  .number()
  .refine((value) => Math.abs(value) <= Number.MAX_SAFE_INTEGER, "must be a number that a double holds exactly");
const scalar = z.union([text, limit, z.boolean(), z.null()]);

function isRe2(source: string): boolean {
  try {
    return RE2JS.compile(source) !== undefined;
  } catch {
    return false;
  }
}

const ofValue = {
  equals: scalar,
  one_of: z.array(scalar).min(1),
  min: limit,
  max: limit,
  prefix: pathPrefix,
  host: z.union([hostName, z.array(hostName).min(1)]),
  pattern: z.string().max(1000).refine(isRe2, "must be a regular expression in RE2 syntax"),
  max_length: z.int().nonnegative(),
};

const hasCondition = (conditions: object): boolean => Object.keys(conditions).length > 0;
const needsCondition = "must have at least one condition";

const itemCondition = z.strictObject(ofValue).partial().refine(hasCondition, needsCondition);

/** Conditions on one value; all must hold (docs/reference/enforcement-point.md#conditions). */
const condition = z
  .strictObject({ ...ofValue, absent: z.literal(true), all_of_items: itemCondition })
  .partial()
  .refine(hasCondition, needsCondition);
export type Condition = z.output<typeof condition>;
export type ConditionName = keyof Condition;

const rule = z.strictObject({
  when: z.record(pointer, condition).refine(hasCondition, needsCondition),
  data_class: dataClass,
});
export type Rule = z.output<typeof rule>;

/** The first rule that holds gives the data class. */
export const ruleList = z.array(rule).min(1);

/** The data class of a call by its arguments; without `data_class`, a call for which no rule holds has none. */
export const classification = z.strictObject({ classify: ruleList, data_class: dataClass.optional() });
export type Classification = z.output<typeof classification>;
