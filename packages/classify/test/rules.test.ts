import { describe, expect, test } from "vitest";
import { classification, classifier, compileRules, ruleList, UnclassifiedCall } from "../src/index.ts";

const rule = (condition: object, pointer = "/a") => ({ when: { [pointer]: condition }, data_class: "a" });

describe("rules are refused when they are read", () => {
  test.each([
    ["no rule", []],
    ["no condition", [{ when: {}, data_class: "a" }]],
    ["no condition at a pointer", [rule({})]],
    ["no data class", [{ when: { "/a": { max: 1 } } }]],
    ["two data classes", [{ ...rule({ max: 1 }), data_class: "a b" }]],
    ["an unknown condition", [rule({ less: 1 })]],
    ["an unknown member", [{ ...rule({ max: 1 }), note: "" }]],
    ["a limit that no double holds", [rule({ max: 2 ** 53 })]],
    ["a limit as text", [rule({ max: "1" })]],
    ["text that is not Unicode", [rule({ equals: "\ud800" })]],
    ["an object", [rule({ equals: {} })]],
    ["no choice", [rule({ one_of: [] })]],
    ["absent: false", [rule({ absent: false })]],
    ["absent items", [rule({ all_of_items: { absent: true } })]],
    ["lists of lists", [rule({ all_of_items: { all_of_items: { max: 1 } } })]],
    ["no condition on items", [rule({ all_of_items: {} })]],
    ["a pattern that is none", [rule({ pattern: "(" })]],
    ["a pattern that RE2 does not have", [rule({ pattern: "(?=a)" })]],
    ["a reference back", [rule({ pattern: "(a)\\1" })]],
    ["an encoded prefix", [rule({ prefix: "/a%20b" })]],
    ["a prefix that leads up", [rule({ prefix: "/a/../b" })]],
    ["an international host", [rule({ host: "ex\u00e4mple.org" })]],
    ["its ASCII form", [rule({ host: "xn--exmple-cua.org" })]],
    ["a host in capitals", [rule({ host: "A.example" })]],
    ["a URL as a host", [rule({ host: "https://a.example" })]],
    ["no host", [rule({ host: [] })]],
    ["a pointer without a slash", [rule({ max: 1 }, "a")]],
    ["a pointer with a bad escape", [rule({ max: 1 }, "/a~2")]],
    ["the whole document", [rule({ max: 1 }, "")]],
    ["a parameter without a name", [rule({ max: 1 }, "?")]],
  ])("%s", (_name, list) => {
    expect(ruleList.safeParse(list).success).toBe(false);
  });
});

test("compiled rules name every class that a call can get, and whether they read its JSON", () => {
  const list = ruleList.parse([rule({ max: 1 }), { ...rule({ max: 2 }), data_class: "b" }, rule({ max: 3 })]);
  expect(compileRules(list, "c")).toMatchObject({ classes: ["a", "b", "c"], readsJson: true });
  expect(compileRules(ruleList.parse([rule({ absent: true }, "?a")]), undefined)).toMatchObject({ readsJson: false });
});

describe("a classifier is the same rules as a function of parameters", () => {
  const settings = classification.parse({ classify: [rule({ max: 500 }, "/amount")], data_class: "b" });

  test("of what JSON sends of them", () => {
    const dataClass = classifier(settings);
    const params = [
      { amount: 5 },
      { amount: 501 },
      { amount: 5n },
      { amount: { toJSON: () => 5 } },
      { Amount: 5 },
      undefined,
    ];
    expect(params.map(dataClass)).toEqual(["a", "b", "b", "a", "b", "b"]);
  });

  test("throws where no rule holds, and there is no other class", () => {
    const dataClass = classifier({ classify: settings.classify });
    expect(dataClass({ amount: 5 })).toBe("a");
    expect(() => dataClass({ amount: 501 })).toThrow(UnclassifiedCall);
  });

  test("throws at once for rules that cannot be used", () => {
    expect(() => classifier({ classify: [rule({ pattern: "(" })], data_class: "b" })).toThrow("RE2");
  });
});
