import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { classify, compileRules, lintRules, type Rule, ruleList } from "../src/index.ts";
import { rules } from "./support.ts";

const lint = (...when: readonly object[]) => lintRules(rules(...when));

describe("a rule that no call satisfies is named", () => {
  test.each([
    ["limits that cross", { "/a": { min: 2, max: 1 } }],
    ["conditions on values of two types", { "/a": { min: 1, prefix: "/b" } }],
    ["a choice that another condition excludes", { "/a": { one_of: ["b", "c"], pattern: "d" } }],
    ["two choices without a common value", { "/a": { one_of: [1, 2], equals: 3 } }],
    ["absent and more", { "/a": { absent: true, max: 1 } }],
    ["a prefix on another host", { "/a": { prefix: "https://b.example/c", host: "d.example" } }],
    ["a number of the query", { "?a": { min: 1 } }],
    ["a number in the path", { ":a": { equals: 1 } }],
    ["a path segment that is absent", { ":a": { absent: true } }],
    ["a member of a text", { "/a": { equals: "b" }, "/a/c": { equals: 1 } }],
    ["a member of what is absent", { "/a": { absent: true }, "/a/c": { max: 1 } }],
    ["one member in two cases", { "/a": { max: 1 }, "/A": { absent: true } }],
  ])("%s", (_name, when) => {
    expect(lint(when)).toEqual([{ kind: "unsatisfiable", rule: 1 }]);
  });

  test.each([
    ["a member that is absent with what it is in", { "/a": { absent: true }, "/a/c": { absent: true } }],
    ["an item of a list", { "/a": { max_length: 1 }, "/a/0": { max: 1 } }],
    ["a member that is absent in both cases", { "/a": { absent: true }, "/A": { absent: true } }],
    ["a text of the query", { "?a": { equals: "1" } }],
    ["items that are none", { "/a": { all_of_items: { min: 2, max: 1 } } }],
    ["a prefix on the same host", { "/a": { prefix: "https://b.example/c", host: ["b.example"] } }],
  ])("and not %s", (_name, when) => {
    expect(lint(when)).toEqual([]);
  });
});

describe("a rule within an earlier one is named", () => {
  test.each([
    ["the same", { "/a": { max: 1 } }, { "/a": { max: 1 } }],
    ["a lower limit", { "/a": { max: 2 } }, { "/a": { max: 1, min: 0 } }],
    ["one condition more", { "/a": { max: 1 } }, { "/a": { max: 1 }, "/b": { absent: true } }],
    ["fewer values", { "/a": { one_of: ["b", "c"] } }, { "/a": { equals: "c" } }],
    ["a value that satisfies it", { "/a": { pattern: "b+" } }, { "/a": { one_of: ["b", "bb"] } }],
    ["a path below", { "/a": { prefix: "/b" } }, { "/a": { prefix: "/b/c" } }],
    ["fewer hosts", { "/a": { host: ["b", "c"] } }, { "/a": { host: "c" } }],
    ["shorter", { "/a": { max_length: 2 } }, { "/a": { max_length: 1 } }],
    ["items within", { "/a": { all_of_items: { max: 2 } } }, { "/a": { all_of_items: { max: 1 } } }],
    ["absent with what it is in", { "/a/b": { absent: true } }, { "/a": { absent: true } }],
  ])("%s", (_name, earlier, later) => {
    expect(lint(earlier, later)).toEqual([{ kind: "subsumed", rule: 2, by: 1 }]);
  });

  test.each([
    ["wider", { "/a": { max: 1 } }, { "/a": { max: 2 } }],
    ["of another pointer", { "/a": { max: 1 } }, { "/b": { max: 1 } }],
    ["of a longer name", { "/a": { prefix: "/b" } }, { "/a": { prefix: "/b2" } }],
    ["of a class that an unsatisfiable rule has", { "/a": { min: 2, max: 1 } }, { "/a": { max: 1 } }],
  ])("and not one that is %s", (_name, earlier, later) => {
    expect(lint(earlier, later).filter(({ kind }) => kind === "subsumed")).toEqual([]);
  });
});

describe("an overlap of rules with different classes is named", () => {
  test("with the earlier rule, which decides", () => {
    expect(lint({ "/a": { max: 1 } }, { "/b": { max: 1 } })).toEqual([{ kind: "overlap", rule: 2, by: 1 }]);
  });

  test.each([
    ["limits that do not meet", { "/a": { max: 1 } }, { "/a": { min: 2 } }],
    ["other values", { "/a": { equals: 1 } }, { "/a": { one_of: [2, 3] } }],
    ["other paths", { "/a": { prefix: "/b" } }, { "/a": { prefix: "/c" } }],
    ["other hosts", { "/a": { host: "b" } }, { "/a": { host: ["c"] } }],
    ["a value and none", { "/a": { max: 1 } }, { "/a": { absent: true } }],
  ])("and none where the two have %s", (_name, earlier, later) => {
    expect(lint(earlier, later)).toEqual([]);
  });

  test("and none between rules of one class", () => {
    const list = rules({ "/a": { max: 1 } }, { "/b": { max: 1 } }).map((rule) => ({ ...rule, data_class: "same" }));
    expect(lintRules(list)).toEqual([]);
  });
});

test("no call has the class of a rule that is called dead, and every overlap that occurs is named", () => {
  const value = fc.constantFrom<unknown>(
    "a",
    "/a",
    "/a/b",
    "https://h/a",
    0,
    1,
    2,
    true,
    null,
    [],
    [1],
    ["a"],
    {},
    { b: 1 },
  );
  const json = fc.dictionary(fc.constantFrom("a", "b", "A"), value, { maxKeys: 2 });
  const condition = fc.constantFrom<object>(
    ...[
      { equals: "a" },
      { one_of: ["a", 1] },
      { min: 1 },
      { max: 1 },
      { min: 1, max: 1 },
      { prefix: "/a" },
      { host: "h" },
    ],
    ...[
      { prefix: "https://h" },
      { pattern: "a|/a" },
      { max_length: 2 },
      { absent: true },
      { all_of_items: { min: 1 } },
    ],
    ...[
      { absent: true, max: 1 },
      { max_length: 1, all_of_items: { equals: "a" } },
    ],
  );
  const pointer = fc.constantFrom("/a", "/b", "/a/b", "/a/0", "/A");
  const list = fc.array(fc.dictionary(pointer, condition, { minKeys: 1, maxKeys: 2 }), { minLength: 2, maxLength: 4 });
  fc.assert(
    fc.property(list, fc.array(json, { minLength: 20, maxLength: 20 }), (when, calls) => {
      const all: readonly Rule[] = ruleList.parse(
        when.map((each, index) => ({ when: each, data_class: `c${index + 1}` })),
      );
      const found = lintRules(all);
      const dead = found.filter(({ kind }) => kind !== "overlap").map(({ rule }) => `c${rule}`);
      for (const call of calls) {
        expect(dead).not.toContain(classify(compileRules(all, undefined), { json: call }));
        const holding = all.filter((each) => classify(compileRules([each], undefined), { json: call }) !== undefined);
        const [first, second] = holding.map((each) => all.indexOf(each) + 1);
        if (second !== undefined) expect(found.some(({ rule }) => rule === second || rule === first)).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
});
