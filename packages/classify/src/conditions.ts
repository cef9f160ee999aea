import { RE2JS } from "re2js";
import { hostOfUrl } from "./host.ts";
import { isBelow } from "./prefix.ts";
import { clear, missing } from "./reading.ts";
import type { Condition, ConditionName } from "./rules.ts";

/** Whether a value satisfies a condition; false for a value of another type. */
export type Test = (value: unknown) => boolean;

/** A pattern costs up to a microsecond for some characters: longer texts, and longer lists, satisfy nothing. */
const maxPatternLength = 1024;
const maxItems = 1024;

const ofText =
  (test: (text: string) => boolean): Test =>
  (value) =>
    typeof value === "string" && test(value);

type Limits = { readonly [N in ConditionName]-?: Exclude<Condition[N], undefined> };

const makers: { readonly [N in ConditionName]: (limit: Limits[N]) => Test } = {
  equals: (expected) => (value) => value === expected,
  one_of: (list) => (value) => list.some((each) => each === value),
  min: (least) => (value) => typeof value === "number" && value >= least,
  max: (most) => (value) => typeof value === "number" && value <= most,
  prefix: (prefix) => ofText(isBelow(prefix)),
  host(names) {
    const hosts = new Set(typeof names === "string" ? [names] : names);
    return ofText((text) => hosts.has(hostOfUrl(text) ?? ""));
  },
  pattern(source) {
    const compiled = RE2JS.compile(source);
    return ofText((text) => text.length <= maxPatternLength && compiled.testExact(text));
  },
  max_length: (most) => (value) =>
    Array.isArray(value) ? value.length <= most : typeof value === "string" && hasCharacters(value, most),
  absent: () => (value) => value === missing,
  all_of_items(condition) {
    const test = testOf(condition);
    return (value) => Array.isArray(value) && value.length <= maxItems && value.every((item) => test(clear(item)));
  },
};

/** Code points, as JSON Schema counts them. */
const hasCharacters = (text: string, most: number): boolean =>
  text.length <= most || (text.length <= 2 * most && [...text].length <= most);

/** All conditions of one pointer must hold. */
export function testOf(condition: Condition): Test {
  const names = Object.keys(condition) as ConditionName[];
  const tests = names.flatMap((name) => makerOf(condition, name) ?? []);
  const [only] = tests;
  return tests.length === 1 && only ? only : (value) => tests.every((test) => test(value));
}

function makerOf<N extends ConditionName>(condition: Condition, name: N): Test | undefined {
  const limit = (condition as { [M in N]?: Limits[M] | undefined })[name];
  return limit === undefined ? undefined : makers[name](limit as Limits[N]);
}
