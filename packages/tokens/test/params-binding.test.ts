import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type BindingRefusal,
  bindingRefusalOf,
  bindParams,
  bindParamsValue,
  bindParsedParams,
  canonicalJson,
  parseStrictJson,
} from "../src/index.ts";

const hashOf = (canonical: string) => createHash("sha256").update(canonical).digest("base64url");
const bound = (canonical: string) => ({ ok: true, paramsHash: hashOf(canonical) });

describe("RFC 8785", () => {
  const samples: [string, string, string][] = [
    [
      "section 3.2.2",
      String.raw`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001], "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`,
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    ],
    [
      "section 3.2.3, keys by UTF-16 code units",
      String.raw`{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"}`,
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    ],
    [
      "the author's test data: arrays",
      '{"a":[56,{"d":true,"10":null,"1":[]}]}',
      '{"a":[56,{"1":[],"10":null,"d":true}]}',
    ],
    [
      "the author's test data: structures",
      '{"1": {"f": {"f": "hi","F": 5} ,"\\n": 56.0}, "10": { }, "": "empty", "a": { }, "111": [ {"e": "yes","E": "no" } ], "A": { }}',
      '{"":"empty","1":{"\\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}',
    ],
    ["the author's test data: unicode", '{"Unnormalized Unicode":"A\\u030a"}', '{"Unnormalized Unicode":"A\u030a"}'],
  ];
  test.each(samples)("%s", (_name, json, canonical) => {
    expect(canonicalJson(JSON.parse(json))).toBe(canonical);
    expect(bindParams(json)).toEqual(bound(canonical));
    expect(bindParams(new TextEncoder().encode(json))).toEqual(bound(canonical));
  });

  // Appendix B: IEEE 754 bits and their JSON.
  const numbers: [string, string][] = [
    ["0000000000000000", "0"],
    ["8000000000000000", "0"],
    ["0000000000000001", "5e-324"],
    ["8000000000000001", "-5e-324"],
    ["7fefffffffffffff", "1.7976931348623157e+308"],
    ["ffefffffffffffff", "-1.7976931348623157e+308"],
    ["4340000000000000", "9007199254740992"],
    ["c340000000000000", "-9007199254740992"],
    ["4430000000000000", "295147905179352830000"],
    ["44b52d02c7e14af5", "9.999999999999997e+22"],
    ["44b52d02c7e14af6", "1e+23"],
    ["44b52d02c7e14af7", "1.0000000000000001e+23"],
    ["444b1ae4d6e2ef4e", "999999999999999700000"],
    ["444b1ae4d6e2ef4f", "999999999999999900000"],
    ["444b1ae4d6e2ef50", "1e+21"],
    ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
    ["3eb0c6f7a0b5ed8d", "0.000001"],
    ["41b3de4355555553", "333333333.3333332"],
    ["41b3de4355555554", "333333333.33333325"],
    ["41b3de4355555555", "333333333.3333333"],
    ["41b3de4355555556", "333333333.3333334"],
    ["41b3de4355555557", "333333333.33333343"],
    ["becbf647612f3696", "-0.0000033333333333333333"],
    ["43143ff3c1cb0959", "1424953923781206.2"],
  ];
  test.each(numbers)("appendix B: %s is %s", (bits, text) => {
    const value = Buffer.from(bits, "hex").readDoubleBE();
    expect(canonicalJson({ value })).toBe(`{"value":${text}}`);
    expect(bindParamsValue({ value })).toEqual(bound(`{"value":${text}}`));
    expect(bindParams(`{"value":${text}}`)).toEqual(bound(`{"value":${text}}`));
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])("appendix B: %s has no spelling", (value) => {
    expect(() => canonicalJson({ value })).toThrow();
    expect(bindParamsValue({ value })).toEqual({ ok: false, cause: "syntax" });
  });
});

describe("one value has one hash", () => {
  const value = fc.dictionary(fc.string({ unit: "binary", maxLength: 5 }), fc.jsonValue({ stringUnit: "binary" }), {
    maxKeys: 6,
  });

  test("order, whitespace and spelling change nothing", () => {
    fc.assert(
      fc.property(value, fc.infiniteStream(fc.nat(5)), (params, choices) => {
        expect(bindParams(respelled(params, choices))).toEqual(bindParams(JSON.stringify(params)));
      }),
    );
  });

  test("a value has the hash of its text", () => {
    fc.assert(
      fc.property(value, (params) => {
        expect(bindParamsValue(params)).toEqual(bindParams(JSON.stringify(params)));
        expect(bindingRefusalOf(JSON.stringify(params)) === undefined).toBe(bindParams(JSON.stringify(params)).ok);
      }),
    );
  });

  test("different values have different hashes", () => {
    const few = fc.dictionary(fc.constantFrom("a", "b", "A"), fc.jsonValue({ maxDepth: 1, depthSize: "small" }), {
      maxKeys: 2,
    });
    fc.assert(
      fc.property(few, few, (one, other) => {
        const [a, b] = [JSON.stringify(one), JSON.stringify(other)];
        expect(isDeepStrictEqual(bindParams(a), bindParams(b))).toBe(isDeepStrictEqual(JSON.parse(a), JSON.parse(b)));
      }),
      { numRuns: 500 },
    );
  });

  test("a change of any leaf changes the hash", () => {
    fc.assert(
      fc.property(value, fc.nat(), (params, pick) => {
        const text = JSON.stringify(params);
        const leaves = [...text.matchAll(/(?<=[:[,])(?:true|false|null|-?\d[^,\]}]*)(?=[,\]}])/g)];
        const leaf = leaves[pick % (leaves.length || 1)];
        if (leaf === undefined || insideString(text, leaf.index)) return;
        const changed = `${text.slice(0, leaf.index)}"changed"${text.slice(leaf.index + leaf[0].length)}`;
        expect(bindParams(changed)).toMatchObject({ ok: true });
        expect(bindParams(changed)).not.toEqual(bindParams(text));
      }),
    );
  });

  const same: [string, string][] = [
    ['{"a":-0}', '{"a":0}'],
    ['{"a":1.0}', '{"a":1}'],
    ['{"a":1e2}', '{"a":100}'],
    ['{"a":"\\u00e9"}', '{"a":"é"}'],
    ['{"a":"\\/"}', '{"a":"/"}'],
  ];
  test.each(same)("%s has the hash of %s", (one, other) => {
    expect(bindParams(one)).toEqual(bindParams(other));
  });

  const different: [string, string][] = [
    ['{"a":"é"}', '{"a":"e\u0301"}'],
    ['{"a":1}', '{"a":"1"}'],
    ['{"a":[1,2]}', '{"a":[2,1]}'],
    ['{"a":null}', "{}"],
    ['{"a":{}}', '{"a":[]}'],
    ['{"a":1}', '{"A":1}'],
    ['{"a":"а"}', '{"a":"a"}'],
    ['{"__proto__":{"a":1}}', "{}"],
    ['{"constructor":1}', "{}"],
    ['{"toJSON":1}', "{}"],
  ];
  test.each(different)("%s has another hash than %s", (one, other) => {
    expect(bindParams(one)).toMatchObject({ ok: true });
    expect(bindParams(one)).not.toEqual(bindParams(other));
  });

  test("__proto__ is hashed as an ordinary member", () => {
    expect(bindParams('{"b":1,"__proto__":{"x":[]}}')).toEqual(bound('{"__proto__":{"x":[]},"b":1}'));
  });
});

const unbindable: [string, BindingRefusal][] = [
  ["[]", "not_object"],
  ['"{}"', "not_object"],
  ["null", "not_object"],
  ["1", "not_object"],
  ["", "syntax"],
  [" ", "syntax"],
  ["{", "syntax"],
  ["\uFEFF{}", "encoding"],
  ['{"a":1,"a":1}', "duplicate_member"],
  ['{"a":[{"b":{"c":1,"c":2}}]}', "duplicate_member"],
  ['{"a":1e400}', "unsafe_number"],
  ['{"a":[9007199254740993]}', "unsafe_number"],
  ['{"a":"\\ud800"}', "lone_surrogate"],
  ['{"\\udfff":1}', "lone_surrogate"],
  [`{"a":${"[".repeat(64)}${"]".repeat(64)}}`, "depth"],
  [`{"a":${"[".repeat(200_000)}`, "depth"],
];
test.each(unbindable)("%.30s cannot be bound: %s", (json, cause) => {
  expect(bindParams(json)).toEqual({ ok: false, cause });
  expect(bindingRefusalOf(json)).toBe(cause);
});

test("bytes that are not UTF-8 cannot be bound", () => {
  const body = Buffer.from('{"a":"?"}');
  body[6] = 0xff;
  expect(bindParams(body)).toEqual({ ok: false, cause: "encoding" });
});

describe("parameters inside a body", () => {
  const body = (params: string, around = '"action_id":"x"') => {
    const parsed = parseStrictJson(`{${around},"params":${params}}`, { maxDepth: 65 });
    if (!parsed.ok) throw new Error(parsed.cause);
    return bindParsedParams(parsed, (parsed.value as { params: unknown }).params);
  };

  test("have the hash that they have alone", () => {
    const deep = `{"a":${"[".repeat(63)}1${"]".repeat(63)}}`;
    for (const params of ['{"b":[1.0,"é"],"a":{}}', "{}", deep]) expect(body(params)).toEqual(bindParams(params));
  });

  test("cannot be bound in an ambiguous body", () => {
    expect(body("{}", '"action_id":"x","action_id":"y"')).toEqual({ ok: false, cause: "duplicate_member" });
    expect(body('{"a":1,"a":2}')).toEqual({ ok: false, cause: "duplicate_member" });
    expect(body("[]")).toEqual({ ok: false, cause: "not_object" });
  });
});

describe("values outside JSON cannot be bound", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = [deep];

  const values: [string, unknown, BindingRefusal][] = [
    ["undefined", undefined, "not_object"],
    ["a function", () => 1, "not_object"],
    ["text", "x", "not_object"],
    ["a list", [1], "not_object"],
    ["a cycle", cyclic, "syntax"],
    ["a bigint", { a: 1n }, "syntax"],
    ["NaN deep inside", { a: [{ b: Number.NaN }] }, "syntax"],
    ["nesting of 100,000", { deep }, "syntax"],
    ["a lone surrogate", { a: "\ud800" }, "lone_surrogate"],
  ];
  test.each(values)("%s", (_name, value, cause) => {
    expect(bindParamsValue(value)).toEqual({ ok: false, cause });
  });

  test("members that JSON.stringify leaves out are left out", () => {
    expect(bindParamsValue({ a: undefined, at: new Date(0) })).toEqual(bindParams('{"at":"1970-01-01T00:00:00.000Z"}'));
  });
});

/** The same JSON value with members in another order, other whitespace, escapes and number spellings. */
function respelled(value: unknown, choices: Iterator<number>): string {
  const choose = () => choices.next().value ?? 0;
  const space = () => ["", " ", "\n", "\t", "\r\n", "  "][choose()] ?? "";
  const spelled = (part: unknown): string => {
    if (typeof part === "string") return text(part);
    if (typeof part === "number" && Number.isInteger(part) && Math.abs(part) < 1e6)
      return `${part}${["", ".0", "e0", "E+0", ".00", ""][choose()]}`;
    if (Array.isArray(part)) return `[${space()}${part.map(spelled).join(`${space()},${space()}`)}${space()}]`;
    if (typeof part !== "object" || part === null) return JSON.stringify(part);
    const members = Object.entries(part).map(
      ([name, member]) => `${text(name)}${space()}:${space()}${spelled(member)}`,
    );
    return `{${(choose() > 2 ? members.reverse() : members).join(`${space()},`)}${space()}}`;
  };
  const text = (part: string) => (choose() > 2 ? JSON.stringify(part) : escaped(part));
  return `${space()}${spelled(value)}${space()}`;
}

const escaped = (text: string): string =>
  `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`;

const insideString = (text: string, at: number): boolean =>
  (text.slice(0, at).replaceAll(/\\./g, "").split('"').length - 1) % 2 === 1;
