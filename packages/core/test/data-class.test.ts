import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { covers, isWithin, splitDataClasses } from "../src/data-class.ts";
import { dataClassName } from "./arbitraries.ts";

test.each([
  ["finance", "finance", true],
  ["finance", "finance.entries", true],
  ["finance", "finance.entries.drafts", true],
  ["finance.entries", "finance.entries.drafts", true],
  ["finance", "financeX", false],
  ["finance", "finance-entries", false],
  ["finance", "finance/entries", false],
  ["finance", "finance ", false],
  ["finance.entries", "finance", false],
  ["finance.entries", "finance.entriesX", false],
  ["finance.entries", "finance.reports", false],
  ["finance", "Finance", false],
  ["finance", "crm.finance", false],
  ["financeX", "finance", false],
  ["", "finance", false],
])("%j covers %j: %j", (parent, child, covered) => expect(covers(parent, child)).toBe(covered));

describe("covering is a partial order", () => {
  test("every class covers itself", () => {
    fc.assert(fc.property(dataClassName, (name) => covers(name, name)));
  });

  test("two classes that cover each other are equal", () => {
    fc.assert(fc.property(dataClassName, dataClassName, (a, b) => !(covers(a, b) && covers(b, a)) || a === b));
  });

  test("a class that covers another covers everything below it", () => {
    fc.assert(
      fc.property(
        dataClassName,
        dataClassName,
        dataClassName,
        (a, b, c) => !(covers(a, b) && covers(b, c)) || covers(a, c),
      ),
    );
  });
});

test("covering compares whole segments", () => {
  const bySegment = (parent: string, child: string) =>
    parent.split(".").every((segment, index) => segment === child.split(".")[index]);
  fc.assert(fc.property(dataClassName, dataClassName, (a, b) => covers(a, b) === bySegment(a, b)));
});

test("a narrowed class never covers more than what it was narrowed from", () => {
  fc.assert(
    fc.property(
      dataClassName,
      fc.array(dataClassName),
      dataClassName,
      (narrowed, parents, asked) =>
        !(isWithin(narrowed, parents) && covers(narrowed, asked)) || isWithin(asked, parents),
    ),
  );
});

test("a list is split at every space: a malformed list has an empty class, which no class covers", () => {
  expect(splitDataClasses("finance crm")).toEqual(["finance", "crm"]);
  expect(splitDataClasses("finance")).toEqual(["finance"]);
  for (const odd of ["", " ", "finance ", "finance  crm"]) expect(splitDataClasses(odd)).toContain("");
  fc.assert(fc.property(dataClassName, (name) => !covers(name, "")));
});
