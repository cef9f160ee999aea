import { describe, expect, test } from "vitest";
import { holds } from "./support.ts";

/** One of these holds for every value that has one reading. */
const every = [
  { absent: true },
  { pattern: "(?s).*" },
  { min: -(2 ** 53) + 1 },
  { max_length: 9999 },
  { one_of: [true, false, null] },
];
const nothing = [false, false, false, false, false];

describe("a value that two readers could read differently satisfies nothing, absent included", () => {
  test.each([
    ["a member in another case", { AMOUNT: 1 }],
    ["the same member in two cases", { amount: 1, Amount: 2 }],
    ["an integer that no double holds", { amount: 2 ** 53 }],
    ["a number beyond every double", { amount: Number.POSITIVE_INFINITY }],
    ["text that is not Unicode", { amount: "\ud800" }],
    ["members of a list", [{ amount: 1 }]],
    ["members of a text", '{"amount":1}'],
    ["members of null", null],
    ["no JSON", undefined],
  ])("%s", (_name, json) => {
    expect(every.map((condition) => holds({ "/amount": condition }, { json }))).toEqual(nothing);
  });

  test("also on the way to it, and in a list of values", () => {
    expect(every.map((condition) => holds({ "/a/b": condition }, { json: { a: { b: 1 }, A: {} } }))).toEqual(nothing);
    expect(every.map((condition) => holds({ "/a/b": condition }, { json: { a: "b" } }))).toEqual(nothing);
    expect(holds({ "/a": { all_of_items: { pattern: "(?s).*" } } }, { json: { a: ["b", "\ud800"] } })).toBe(false);
    expect(holds({ "/kind": { absent: true } }, { json: { "\u212aind": 1 } })).toBe(false);
  });

  test("and nothing beside it is affected", () => {
    expect(holds({ "/a": { equals: 1 }, "/c": { absent: true } }, { json: { a: 1, b: 2 ** 60, B: "\ud800" } })).toBe(
      true,
    );
  });
});

describe("a parameter of the query is decoded once, and read alike by every server", () => {
  test.each([
    ["to=a", "a"],
    ["x=1&to=a%20b", "a b"],
    ["to=%C3%BC&TOO=1", "ü"],
    ["to=", ""],
    ["to=a=b", "a=b"],
  ])("%s", (query, value) => {
    expect(holds({ "?to": { equals: value } }, { json: undefined, query })).toBe(true);
  });

  test.each(["", "x=1", "x=to", "too=1"])("%j has none", (query) => {
    expect(holds({ "?to": { absent: true } }, { json: undefined, query })).toBe(true);
  });

  test.each([
    ...["to=a&to=a", "to=a&TO=b", "To=a", "to[]=a", "to[0]=a", "to", "to=a+b", "to=a%2", "to=%ff", "to=a%00"],
    ...[
      "to=%2541",
      "x;to=a",
      "to=a;b",
      "%74o=a&to=b",
      "%2574o=a",
      "t%6f[=a",
      "to=a&%zz=1",
      " to=a",
      "to%20=a",
      "+to=a",
    ],
  ])("%s satisfies nothing", (query) => {
    expect(every.map((condition) => holds({ "?to": condition }, { json: undefined, query }))).toEqual(nothing);
  });

  test("a dot or a space of a name is an underscore to some", () => {
    expect(every.map((condition) => holds({ "?a_b": condition }, { json: undefined, query: "a.b=1" }))).toEqual(
      nothing,
    );
  });
});

describe("a named path segment is decoded once, and read alike by every server", () => {
  test.each([
    ["a", "a"],
    ["a%20b", "a b"],
    ["%C3%BC", "ü"],
  ])("%s", (id, value) => {
    expect(holds({ ":id": { equals: value } }, { json: undefined, segments: { id } })).toBe(true);
  });

  test.each(["a;b", "a%3bb", "a%2541", "a%3fb", "a%23b", "a%2fb", "a+b", "%ff", "%0a"])(
    "%s satisfies nothing",
    (id) => {
      expect(every.map((condition) => holds({ ":id": condition }, { json: undefined, segments: { id } }))).toEqual(
        nothing,
      );
    },
  );

  test("one that the route does not have satisfies nothing", () => {
    expect(every.map((condition) => holds({ ":id": condition }, { json: {}, segments: {} }))).toEqual(nothing);
  });
});
