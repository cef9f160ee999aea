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
  equals: scalar.describe("Exactly this text, number, boolean or null."),
  one_of: z.array(scalar).min(1).describe("Exactly one of these."),
  min: limit.describe("A number that is not smaller."),
  max: limit.describe("A number that is not larger."),
  prefix: pathPrefix.describe("This path or URI and what is below it, by whole segments."),
  host: z.union([hostName, z.array(hostName).min(1)]).describe("An absolute http or https URL of this host."),
  pattern: z
    .string()
    .max(1000)
    .refine(isRe2, "must be a regular expression in RE2 syntax")
    .describe("Text of up to 1,024 characters that the RE2 expression matches as a whole."),
  max_length: z.int().nonnegative().describe("Text of so many characters, or a list of so many items."),
};

const hasCondition = (conditions: object): boolean => Object.keys(conditions).length > 0;
const needsCondition = "must have at least one condition";

const itemCondition = z.strictObject(ofValue).partial().refine(hasCondition, needsCondition);

/** Conditions on one value; all must hold (docs/reference/enforcement-point.md#conditions). */
const condition = z
  .strictObject({
    ...ofValue,
    absent: z.literal(true).describe("No value at all; `null` is a value."),
    all_of_items: itemCondition.describe("A list of up to 1,024 items, for each of which the conditions hold."),
  })
  .partial()
  .refine(hasCondition, needsCondition);
export type Condition = z.output<typeof condition>;
export type ConditionName = keyof Condition;

const rule = z.strictObject({
  when: z
    .record(pointer, condition)
    .refine(hasCondition, needsCondition)
    .describe("JSON pointer, `:name` of a path's segment or `?name` of a parameter to conditions; all must hold."),
  data_class: dataClass.describe("The class of a call for which the rule holds."),
});
export type Rule = z.output<typeof rule>;

/** The first rule that holds gives the data class. */
export const ruleList = z.array(rule).min(1);

/** The data class of a call by its arguments; without `data_class`, a call for which no rule holds has none. */
export const classification = z.strictObject({
  classify: ruleList.describe("The first rule that holds gives the data class."),
  data_class: dataClass.optional().describe("The class of every other call."),
});
export type Classification = z.output<typeof classification>;
