import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type JsonFault, parseStrictJson } from "../src/index.ts";

const clean = { duplicateDepth: null, unsafeNumber: false, loneSurrogate: false };
const bytes = (...values: number[]) => Uint8Array.from(values);
const nested = (depth: number, open = "[", close = "]") => open.repeat(depth) + close.repeat(depth);

test("everything that JSON.stringify writes is read without findings", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), fc.constantFrom(0, 1, "\t"), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const want = { ok: true, value: JSON.parse(text), ...clean };
      expect(parseStrictJson(text)).toEqual(want);
      expect(parseStrictJson(new TextEncoder().encode(text))).toEqual(want);
    }),
  );
});

test("everything that JSON.parse rejects is rejected", () => {
  const noise = fc.string({ unit: fc.constantFrom(...'{}[]":,\\u0d8e+-.1 \n\0', "é", "\ud800"), maxLength: 30 });
  fc.assert(
    fc.property(noise, (text) => {
      const parsed = parseStrictJson(text);
      expect(parsed.ok).toBe(parses(text));
    }),
    { numRuns: 2000 },
  );
});

/** JSON, mostly, of few names, so that some repeat, and of numbers and strings that not all readers read alike. */
const oddJson = fc.letrec<{ value: string }>((tie) => {
  const name = fc.constantFrom('"a"', '"b"', '"\\u0061"', '"__proto__"', '"toJSON"', '"1"');
  const scalar = fc.constantFrom(
    ...["0", "-0", "1.0", "1e2", "1e400", "9007199254740993", "0.1", "1e-7", "true", "null", "01"],
    ...['"a"', '"\\""', '"\\/"', '"\\ud800"', '"\ud800"', '"\\u00e9"', '"é"', '":"', '"[{"'],
  );
  const listed = (parts: fc.Arbitrary<string>) => fc.array(parts, { maxLength: 4 }).map((all) => all.join(","));
  const member = fc.tuple(name, tie("value")).map(([left, right]) => `${left}:${right}`);
  return {
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      scalar,
      listed(tie("value")).map((all) => `[${all}]`),
      listed(member).map((all) => `{${all}}`),
    ),
  };
}).value;

test("the fast path for the output of JSON.stringify has the findings of a full parse", () => {
  // A blank before it, which JSON.stringify never writes, has every character read.
  fc.assert(
    fc.property(oddJson, fc.integer({ min: 0, max: 4 }), (text, maxDepth) => {
      expect(parseStrictJson(text, { maxDepth })).toEqual(parseStrictJson(` ${text}`, { maxDepth }));
    }),
    { numRuns: 3000 },
  );
});

const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe("repeated members", () => {
  const cases: [string, number | null][] = [
    ['{"a":1,"b":1}', null],
    ['{"a":1,"a":1}', 1],
    ['{"a":1,"b":2,"a":3}', 1],
    ['{"a":1,"\\u0061":2}', 1],
    ['{"a" : 1 , "a"\n:\t2}', 1],
    ['{"":1,"":2}', 1],
    ['{"__proto__":1,"__proto__":2}', 1],
    ['{"a":{"a":1},"b":{"a":1}}', null],
    ['{"a":{"b":1,"b":2}}', 2],
    ['{"x":{"y":{"b":1,"b":2}},"x":1}', 1],
    ['{"x":1,"x":{"y":{"b":1,"b":2}}}', 1],
    ['[{"a":1},{"a":1}]', null],
    ['[{"a":1,"a":1}]', 2],
    ['{"a":"a","b":["a","a",":",{"a":":"}]}', null],
    ['{"\\"a":1,"a":2,"\\\\":3}', null],
    ['{"a\\"b":1,"a\\"b":2}', 1],
    ['{"e\u0301":1,"\u00e9":2}', null],
    ['{"A":1,"a":2}', null],
  ];
  test.each(cases)("%s: the shallowest at depth %j", (text, depth) => {
    expect(parseStrictJson(text)).toMatchObject({ ok: true, duplicateDepth: depth });
  });

  test("the last one counts, as in JSON.parse", () => {
    expect(parseStrictJson('{"a":1,"a":2}')).toMatchObject({ value: { a: 2 } });
  });
});

describe("numbers and text", () => {
  const cases: [string, object][] = [
    ['{"a":1e400}', { unsafeNumber: true }],
    ["[1,[9007199254740993]]", { unsafeNumber: true }],
    ["9007199254740993", { unsafeNumber: true }],
    ["[-0,1.0,0.1,1e2]", {}],
    ['"9007199254740993"', {}],
    ['["\\"9007199254740993",1]', {}],
    ['"\\ud800"', { loneSurrogate: true }],
    ['"\\udc00\\ud800"', { loneSurrogate: true }],
    ['{"\\ud800":1}', { loneSurrogate: true }],
    ['"\ud800"', { loneSurrogate: true }],
    ['"\\ud83d\\ude02"', {}],
    ['"😂"', {}],
    ['"\\\\ud800"', {}],
  ];
  test.each(cases)("%s", (text, facts) => {
    expect(parseStrictJson(text)).toEqual({ ok: true, value: JSON.parse(text), ...clean, ...facts });
  });
});

describe("faults", () => {
  const cases: [string, string | Uint8Array, JsonFault][] = [
    ["nothing", "", "syntax"],
    ["no bytes", bytes(), "syntax"],
    ["two values", "{}{}", "syntax"],
    ["trailing bytes", '{"a":1}x', "syntax"],
    ["a trailing NUL", "{}\0", "syntax"],
    ["a trailing comma", '{"a":1,}', "syntax"],
    ["a comment", "{}//", "syntax"],
    ["a leading zero", "[01]", "syntax"],
    ["a leading plus", "[+1]", "syntax"],
    ["NaN", "[NaN]", "syntax"],
    ["a raw control character", '"\u0001"', "syntax"],
    ["a malformed escape", '"\\x41"', "syntax"],
    ["an open string", '"abc', "syntax"],
    ["an open string with an escape", '"abc\\', "syntax"],
    ["an open object", '{"a":', "syntax"],
    ["a byte order mark in bytes", bytes(0xef, 0xbb, 0xbf, 0x7b, 0x7d), "encoding"],
    ["a byte order mark in text", "\uFEFF{}", "encoding"],
    ["a byte that is no UTF-8", bytes(0x22, 0xff, 0x22), "encoding"],
    ["an overlong form", bytes(0x22, 0xc0, 0xaf, 0x22), "encoding"],
    ["an encoded surrogate", bytes(0x22, 0xed, 0xa0, 0x80, 0x22), "encoding"],
    ["a cut-off character", bytes(0x22, 0xe2, 0x82), "encoding"],
    ["UTF-16", bytes(0xff, 0xfe, 0x7b, 0x00), "encoding"],
    ["nesting of 65", nested(65), "depth"],
    ["nesting of 65 objects", `${'{"a":'.repeat(65)}1${"}".repeat(65)}`, "depth"],
    ["nesting of 200,000", nested(200_000), "depth"],
    ["nesting of 200,000 that never closes", "[".repeat(200_000), "depth"],
    ["nesting of 200,000 objects", '{"a":'.repeat(200_000), "depth"],
  ];
  test.each(cases)("%s", (_name, json, cause) => {
    expect(parseStrictJson(json)).toEqual({ ok: false, cause });
  });

  test("64 levels are read, and brackets inside a string are not levels", () => {
    expect(parseStrictJson(nested(64))).toMatchObject({ ok: true });
    expect(parseStrictJson(`${"[".repeat(64)}"${"[{".repeat(100)}"${"]".repeat(64)}`)).toMatchObject({ ok: true });
    expect(parseStrictJson(nested(3), { maxDepth: 2 })).toEqual({ ok: false, cause: "depth" });
  });

  test("many brackets side by side are not deep", () => {
    expect(parseStrictJson(`[${"[],".repeat(10_000)}[]]`)).toMatchObject({ ok: true });
  });
});

test("__proto__ and constructor are ordinary members", () => {
  const parsed = parseStrictJson('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
  expect(parsed.ok && Object.keys(parsed.value as object)).toEqual(["__proto__", "constructor"]);
  expect(parsed.ok && Object.getPrototypeOf(parsed.value)).toBe(Object.prototype);
  expect({}).not.toHaveProperty("polluted");
});
