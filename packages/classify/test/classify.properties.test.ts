import fc from "fast-check";
import { expect, test } from "vitest";
import { classify, compileRules, type Rule, ruleList } from "../src/index.ts";

const names = ["a", "b", "A", "B"] as const;
const text = fc.constantFrom("", "a", "/a/b", "/a/../b", "https://a.example/x", "https://b@a.example/", "\ud800", "1");
const number = fc.constantFrom(0, 1, -1, 1.5, 500, 2 ** 53, 2 ** 60);

/** Values of few names, so that rules meet them. */
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    text,
    number,
    fc.constantFrom(true, false, null),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), tie("value"), { maxKeys: 3 }),
  ),
})).value;

const ofItem = fc.constantFrom<object>(
  ...[{ equals: "a" }, { one_of: ["a", 1, null] }, { min: 0 }, { max: 1 }, { prefix: "/a" }, { host: "a.example" }],
  ...[{ pattern: ".*" }, { max_length: 3 }],
);
const condition = fc.oneof(
  ofItem,
  fc.constant({ absent: true }),
  ofItem.map((each) => ({ all_of_items: each })),
);
const pointer = fc.constantFrom("/a", "/b", "/a/b", "/a/0", "?a", ":a");
const when = fc.dictionary(pointer, condition, { minKeys: 1, maxKeys: 3 });
const rulesOf = (list: readonly object[]): readonly Rule[] =>
  ruleList.parse(list.map((each, index) => ({ when: each, data_class: `c${index}` })));
const call = fc.record({ json, query: fc.constantFrom("", "a=1", "A=1"), segments: fc.constant({ a: "a" }) });

test("one more condition never makes a rule hold where it did not", () => {
  fc.assert(
    fc.property(when, pointer, condition, call, (conditions, at, added, args) => {
      const more = { ...conditions, [at]: { ...conditions[at], ...without(added, conditions[at]) } };
      const holds = (each: object) => classify(compileRules(rulesOf([each]), undefined), args) !== undefined;
      if (holds(more)) expect(holds(conditions)).toBe(true);
    }),
    { numRuns: 5000 },
  );
});

/** The conditions that a pointer does not have yet: a second limit would replace the first. */
const without = (added: object, present: object = {}): object =>
  Object.fromEntries(Object.entries(added).filter(([name]) => !(name in present)));

test("the order of members, and the spelling of the JSON, do not change the class", () => {
  fc.assert(
    fc.property(fc.array(when, { minLength: 1, maxLength: 4 }), json, (list, value) => {
      const compiled = compileRules(rulesOf(list), undefined);
      const reversed = compileRules(rulesOf(list.map(reverse)), undefined);
      const want = classify(compiled, { json: value });
      expect(classify(compiled, { json: reverse(value) })).toBe(want);
      expect(classify(reversed, { json: JSON.parse(respelled(value)) })).toBe(want);
    }),
    { numRuns: 3000 },
  );
});

const reverse = (value: unknown): never => {
  if (Array.isArray(value)) return value.map(reverse) as never;
  if (typeof value !== "object" || value === null) return value as never;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, each]) => [name, reverse(each)]),
  ) as never;
};

/** Every character escaped, whole numbers as fractions, with blanks. */
const respelled = (value: unknown): string =>
  JSON.stringify(value, null, 1)
    .replace(/"(?:[^"\\]|\\.)*"/g, (each) => `"${escaped(JSON.parse(each))}"`)
    .replace(/(?<=[ ])(-?\d+)(?=,?$)/gm, "$1.0e0");

const escaped = (plain: string): string =>
  plain.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

test("classification never throws on any JSON", () => {
  fc.assert(
    fc.property(
      fc.array(when, { minLength: 1, maxLength: 4 }),
      fc.jsonValue({ stringUnit: "binary" }),
      fc.string(),
      (list, value, odd) => {
        const args = { json: value, query: odd, segments: { a: odd } };
        expect(classify(compileRules(rulesOf(list), "other"), args)).toMatch(/^(?:c\d|other)$/);
      },
    ),
    { numRuns: 2000 },
  );
});
