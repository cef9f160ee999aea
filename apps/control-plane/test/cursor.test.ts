import fc from "fast-check";
import { expect, test } from "vitest";
import { openCursor, sealCursor } from "../src/http/page.ts";

const key = new Uint8Array(32).fill(1);
const use = { route: "/v1/agents", filter: { status: "reconciled" } };
const cursor = sealCursor(key, use, "planner");

test("a cursor is valid for its own route and filter, in any order of the filter's members", () => {
  expect(openCursor(key, use, cursor)).toBe("planner");
  const filter = { agent: "a", outcome: "deny" };
  const sealed = sealCursor(key, { route: "/r", filter }, "7");
  expect(openCursor(key, { route: "/r", filter: { outcome: "deny", agent: "a" } }, sealed)).toBe("7");
});

test.each([
  ["another route", key, { ...use, route: "/v1/audit/decisions" }],
  ["another filter", key, { ...use, filter: { status: "attested" } }],
  ["a filter more", key, { ...use, filter: { ...use.filter, agent: "a" } }],
  ["a filter less", key, { ...use, filter: {} }],
  ["another key", new Uint8Array(32).fill(2), use],
])("a cursor is invalid for %s", (_name, otherKey, otherUse) => {
  expect(openCursor(otherKey, otherUse, cursor)).toBeUndefined();
});

test("a cursor with any character changed, removed or added is invalid", () => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  for (let at = 0; at < cursor.length; at++) {
    for (const char of alphabet) {
      const changed = cursor.slice(0, at) + char + cursor.slice(at + 1);
      if (changed !== cursor) expect(openCursor(key, use, changed)).toBeUndefined();
    }
    expect(openCursor(key, use, cursor.slice(0, at))).toBeUndefined();
  }
  for (const tail of ["A", "=", " ", "\n", "AAAA"]) expect(openCursor(key, use, cursor + tail)).toBeUndefined();
});

test("every position is read back from its cursor, and arbitrary text is no cursor", () =>
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1 }), fc.string(), (position, text) => {
      expect(openCursor(key, use, sealCursor(key, use, position))).toBe(position);
      expect(openCursor(key, use, text)).toBeUndefined();
    }),
  ));
