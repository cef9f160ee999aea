import { isUnambiguousPath, segmentsOf } from "@svc/classify";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPlainQuery, liberalReadings } from "../src/message/path.ts";

describe("a path that servers could read differently is rejected", () => {
  test.each([
    ["a dot segment", "/a/./b"],
    ["two dots", "/a/../b"],
    ["a final dot segment", "/a/.."],
    ["an encoded dot segment", "/a/%2e%2e/admin"],
    ["a half encoded dot segment", "/a/.%2E/admin"],
    ["an empty segment", "//x"],
    ["an empty segment inside", "/a//b"],
    ["an empty segment before a trailing slash", "/a//"],
    ["a backslash", "/a\\..\\admin"],
    ["an encoded slash", "/a%2fb"],
    ["an encoded backslash", "/a%5Cb"],
    ["an encoded NUL", "/a%00"],
    ["an encoded line feed", "/a%0a"],
    ["an encoded DEL", "/a%7f"],
    ["an encoded C1 control", "/a%c2%85"],
    ["a twice encoded dot", "/a/%252e%252e"],
    ["a twice encoded slash", "/a%252fb"],
    ["a twice encoded backslash", "/a%255cb"],
    ["a thrice encoded dot", "/a%25252e"],
    ["a bare percent sign", "/a%"],
    ["a percent sign before no hex", "/a%zz"],
    ["encoded bytes that are no UTF-8", "/a%ff"],
    ["an overlong slash", "/a%c0%af"],
    ["an encoded surrogate", "/a%ed%a0%80"],
    ["dots before parameters", "/a/..;/admin"],
    ["encoded dots before parameters", "/a/%2e%2e;x=1/admin"],
    ["dots before encoded parameters", "/a/..%3b/admin"],
    ["nothing before parameters", "/a/;x=1/b"],
    ["nothing before encoded parameters", "/%3Bx"],
    ["a fragment", "/a#b"],
    ["a space", "/a b"],
    ["a tab", "/a\tb"],
    ["a raw byte beyond ASCII", "/caf\u00e9"],
    ["no leading slash", "a/b"],
    ["nothing", ""],
  ])("%s: %j", (_name, path) => {
    expect(isUnambiguousPath(path)).toBe(false);
  });
});

test.each([
  "/",
  "/a",
  "/a/",
  "/a/b.c/d..e/...",
  "/a;v=1/b",
  "/caf%C3%A9",
  "/a%20b",
  "/100%25",
  "/~user/@x:y,z!$&'()*+=",
])("every server reads %j the same way", (path) => {
  expect(isUnambiguousPath(path)).toBe(true);
});

test("a query does not affect the decision and is forwarded unless it could end the request line", () => {
  expect(["?", "?a=%zz&b=\\", "?a=/../&b=//"].map(isPlainQuery)).toEqual([true, true, true]);
  expect(["?a#b", "?a b", "?a\r\nX: y", "?\u00e9"].map(isPlainQuery)).toEqual([false, false, false, false]);
});

test("no accepted path is changed by a WHATWG URL parser or decodes to other segments", () => {
  const piece = fc.constantFrom(
    "/",
    ".",
    "%2e",
    "%2F",
    ";",
    "%3b",
    "\\",
    "a",
    "%25",
    "2e",
    "%C3%A9",
    "%ff",
    "-",
    "?",
    "#",
    "\u0000",
    "~",
    "%41",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const path = `/${pieces.join("")}`;
      fc.pre(isUnambiguousPath(path));
      expect(new URL(`http://h${path}`).pathname).toBe(path);
      expect(segmentsOf(decodeURIComponent(path))).toHaveLength(segmentsOf(path).length);
      expect(liberalReadings(path).flat()).not.toContain("..");
    }),
    { numRuns: 20_000 },
  );
});
