import { describe, expect, test } from "vitest";
import { holds, holdsFor } from "./support.ts";

type Row = readonly [condition: object, holding: readonly unknown[], others: readonly unknown[]];

/** `undefined` is no such member. */
const table: readonly Row[] = [
  [{ equals: 5 }, [5], ["5", 5.1, [5], null, undefined, true]],
  [{ equals: "a" }, ["a"], ["A", "a ", "", ["a"], { a: 1 }, undefined]],
  [{ equals: null }, [null], [0, "", false, undefined]],
  [{ one_of: ["a", 1, false] }, ["a", 1, false], ["1", true, 0, null, undefined]],
  [{ min: 0 }, [0, -0, 0.5, 2 ** 53 - 1], [-0.5, "1", null, [1], true, undefined]],
  [{ max: 500 }, [500, -1, 1e-7], [500.01, "500", "", null, [], [1], false, undefined]],
  [{ min: 1, max: 3 }, [1, 3], [0, 4]],
  [{ max_length: 2 }, ["", "ab", "😀😀", [], [1, 2]], ["abc", "😀😀😀", [1, 2, 3], { length: 1 }, 1, undefined]],
  [{ absent: true }, [undefined], [null, "", 0, [], {}, false]],
  [{ pattern: "INV-[0-9]{4}" }, ["INV-0001"], ["INV-00012", "xINV-0001", "INV-0001\n", "inv-0001", 1, undefined]],
  [{ pattern: "a|ab" }, ["a", "ab"], ["abc", ""]],
  [{ pattern: "a+" }, ["a".repeat(1024)], ["a".repeat(1025)]],
  [{ all_of_items: { one_of: ["a", "b"] } }, [[], ["a"], ["b", "a", "a"]], [["a", "c"], ["a", 1], "a", {}, undefined]],
  [{ all_of_items: { max: 1 } }, [[1], Array(1024).fill(1)], [[1, [1]], [2 ** 60], Array(1025).fill(1)]],
  [
    { all_of_items: { host: "a.example" }, max_length: 1 },
    [["https://a.example/"]],
    [["https://a.example/", "https://a.example/"]],
  ],
];

describe("a condition holds for values of its own type alone", () => {
  test.each(table)("%j", (condition, holding, others) => {
    expect(holding.filter((value) => !holdsFor(condition, value))).toEqual([]);
    expect(others.filter((value) => holdsFor(condition, value))).toEqual([]);
  });
});

describe("a prefix holds for whole segments, in every reading", () => {
  test.each([
    ["/docs", ["/docs", "/docs/", "/docs/a b/ü.txt", "/docs/a%20b", "/docs/C#/x?y"]],
    ["/docs/", ["/docs", "/docs/a"]],
    ["docs", ["docs", "docs/a"]],
    ["/", ["/", "/a"]],
    ["file:///docs", ["file:///docs", "file:///docs/a"]],
    ["https://a.example", ["https://a.example", "https://a.example/b"]],
  ])("%s", (prefix, below) => {
    expect(below.filter((value) => !holdsFor({ prefix }, value))).toEqual([]);
    expect(holdsFor({ prefix }, [prefix])).toBe(false);
  });

  test.each([
    ...[
      "/docs2",
      "/doc",
      "/Docs/a",
      "docs/a",
      "//docs/a",
      "/docs//a",
      "/docs/../etc",
      "/docs/./a",
      "/docs/..",
      "/a/docs",
    ],
    ...["/docs/%2e%2e/etc", "/docs/%2E./etc", "/docs/..%2fetc", "/docs/a%5cb", "/docs/a\\b", "/docs/%252e%252e/etc"],
    ...[
      "/docs/..;/etc",
      "/docs/... /etc",
      "/docs/.. /etc",
      "/docs/\u2025/etc",
      "/docs/%E2%80%A5/etc",
      "/docs/\uff0e\uff0e/etc",
    ],
    ...[
      "/docs/a\0b",
      "/docs/%00",
      "/docs/a\nb",
      "/docs/%ff",
      "/docs/100%",
      "/%64ocs/a",
      "/docs\uff0fa/../..",
      "/docs/\ud800",
    ],
  ])("/docs does not hold for %j", (value) => {
    expect(holdsFor({ prefix: "/docs" }, value)).toBe(false);
  });
});

describe("a host holds for an absolute URL of which every parser finds that host", () => {
  test.each([
    [
      "a.example",
      [
        "https://a.example",
        "http://a.example/b?c=d#e",
        "HTTPS://A.Example/",
        "https://a.example:443/",
        "http://a.example:80",
      ],
    ],
    ["a.example:8443", ["https://a.example:8443/b"]],
    ["a.example:80", ["https://a.example:80/"]],
    ["127.0.0.1", ["http://127.0.0.1/"]],
  ])("%s", (host, urls) => {
    expect(urls.filter((value) => !holdsFor({ host }, value))).toEqual([]);
    expect(urls.filter((value) => !holdsFor({ host: ["other.example", host] }, value))).toEqual([]);
    expect(urls.filter((value) => holdsFor({ host: "other.example" }, value))).toEqual([]);
  });

  test.each([
    ...[
      "a.example",
      "//a.example/",
      "https:a.example",
      "https:/a.example",
      "https:///a.example",
      "ftp://a.example/",
      " https://a.example/",
    ],
    ...[
      "https://b.a.example/",
      "https://a.example.b/",
      "https://a.example./",
      "https://a.example:8443/",
      "http://a.example:443/",
    ],
    ...[
      "https://user@a.example/",
      "https://a.example@b/",
      "https://a.example:x@b/",
      "https://a.example:443@b/",
      "https://a.example\\@b/",
    ],
    ...[
      "https://a.example#@b/",
      "https://a.example?@b/",
      "https://a.example:0443/",
      "https://a.example:/",
      "https://a.example:00/",
    ],
    ...[
      "https://a.ex\u00e4mple/",
      "https://\uff41.example/",
      "https://a%2eexample/",
      "https://a.example\t/",
      "https://a\n.example/",
      "https://a.example/ b",
    ],
  ])("a.example does not hold for %j", (value) => {
    expect(holdsFor({ host: "a.example" }, value)).toBe(false);
  });
});

describe("a pointer", () => {
  const json = {
    a: { b: [{ c: 1 }, 2], "x/y": 3, "m~n": 4, "": 5 },
    n: null,
    "0": 6,
    ...JSON.parse('{"__proto__":7}'),
  };
  test.each([
    ["/a/b/0/c", 1],
    ["/a/b/1", 2],
    ["/a/x~1y", 3],
    ["/a/m~0n", 4],
    ["/a/", 5],
    ["/0", 6],
    ["/n", null],
    ["/__proto__", 7],
  ])("%s leads to the value that RFC 6901 names", (pointer, value) => {
    expect(holds({ [pointer]: { equals: value } }, { json })).toBe(true);
  });

  test.each(["/z", "/z/z", "/a/z", "/a/b/2", "/toString", "/constructor"])(
    "%s leads to no value, which is absent",
    (pointer) => {
      expect(holds({ [pointer]: { absent: true } }, { json })).toBe(true);
    },
  );
});

test("the first rule that holds gives the class, and all conditions of a rule must hold", () => {
  const when = { "/a": { max: 1 }, "/b": { absent: true } };
  expect([{ a: 1 }, { a: 1, b: 1 }, { a: 2 }].map((json) => holds(when, { json }))).toEqual([true, false, false]);
});
