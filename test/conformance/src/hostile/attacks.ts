import fc from "fast-check";

/** A change to a valid request. Indices are taken modulo the number of candidates. */
export interface Attack {
  readonly base: number;
  /** A path segment, already percent-encoded, for the placeholder at this index. */
  readonly segment: { readonly at: number; readonly text: string } | undefined;
  /** For the operation's parameter at this index, or as an unknown parameter. */
  readonly query: readonly { readonly at: number | "unknown"; readonly value: string }[];
  readonly bearer: BearerChoice;
  /** Undefined: the valid one. */
  readonly contentType: string | undefined;
  readonly body: BodyChoice;
}

export type BearerChoice = "right" | "none" | "twice" | "admin" | "audit" | "identity" | { readonly text: string };

export type BodyChoice =
  | { readonly kind: "kept" | "removed" | "repeated"; readonly at: number }
  /** `json` is JSON text, since hostile numbers and nesting have no JavaScript value. */
  | { readonly kind: "replaced"; readonly at: number; readonly json: string }
  | { readonly kind: "added"; readonly name: string; readonly json: string }
  | { readonly kind: "raw"; readonly text: string };

const unicode = fc.string({ unit: "binary", maxLength: 40 });

/** Text that broke databases, parsers, templates and loggers. */
const hostileText = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "\u0000",
    "a\u0000b",
    "\ud800",
    "\udc00\ud800",
    "\u202egpj",
    "\ufeff",
    "'; drop table agent; --",
    "%",
    "_",
    "\\",
    "../../etc/passwd",
    "{}",
    "null",
    "NaN",
    "-1",
    "1e400",
    "99999999999999999999",
    "01a00000-0000-7000-8000-000000000000",
    "01A00000-0000-7000-8000-00000000000G",
    "2026-02-30T00:00:00Z",
    "+275760-09-13T00:00:00.001Z",
    "0000-01-01T00:00:00Z",
    "__proto__",
    "constructor",
    "a\r\nSet-Cookie: x=1",
    "x".repeat(256),
    "x".repeat(3_000),
    "\u{1f9e8}".repeat(255),
  ),
  unicode,
);

const hostileJson = fc.oneof(
  hostileText.map((text) => JSON.stringify(text)),
  fc.constantFrom(
    "null",
    "true",
    "0",
    "-0",
    "-1",
    "1.5",
    "2147483648",
    "9007199254740993",
    "1e400",
    "-1e400",
    "1e-400",
    "[]",
    "{}",
    "[null]",
    '{"":""}',
    '{"__proto__":{"a":1}}',
    '{"a":1,"a":2}',
    "01",
    "'x'",
    `${"[".repeat(5_000)}${"]".repeat(5_000)}`,
    `${'{"a":'.repeat(70)}1${"}".repeat(70)}`,
    JSON.stringify("y".repeat(70_000)),
    JSON.stringify(Array.from({ length: 300 }, (_, n) => n)),
  ),
  fc.json({ maxDepth: 3 }),
);

/** Percent-encoding of any string: half a surrogate pair as three bytes, which UTF-8 decoders reject. */
export const percentEncoded = (text: string): string =>
  [...text]
    .map((character) => (/^[\ud800-\udfff]$/.test(character) ? halfEncoded(character) : encodeURIComponent(character)))
    .join("");

function halfEncoded(half: string): string {
  const code = half.charCodeAt(0);
  const bytes = [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)];
  return bytes.map((byte) => `%${byte.toString(16)}`).join("");
}

const hostileSegment = fc.oneof(
  { weight: 4, arbitrary: hostileText.map(percentEncoded) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("%", "%zz", "%ff", "%c0%ae", "%00", "%2e%2e", "..", ".", "a%2Fb", "%252e", ";x", "a+b"),
  },
);

const hostileQueryValue = fc.oneof(
  { weight: 6, arbitrary: hostileText.map(percentEncoded) },
  { weight: 1, arbitrary: fc.constantFrom("%", "%zz", "%ff", "0", "1", "200", "201", "true", "active", "tool") },
);

const bearer: fc.Arbitrary<BearerChoice> = fc.oneof(
  { weight: 12, arbitrary: fc.constant("right" as const) },
  { weight: 2, arbitrary: fc.constantFrom("none", "twice", "admin", "audit", "identity") },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom("x", "Basic x", "eyJhbGciOiJub25lIn0.e30.", "a.b.c.d", "x".repeat(8_000), "x y", "\u00e9")
      .map((text) => ({ text })),
  },
);

const index = fc.nat({ max: 40 });
const body: fc.Arbitrary<BodyChoice> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("kept" as const), at: index }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("removed" as const, "repeated" as const), at: index }) },
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("replaced" as const), at: index, json: hostileJson }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("added" as const),
      name: fc.oneof(hostileText, fc.constant("unknown")),
      json: hostileJson,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("raw" as const),
      text: fc.oneof(hostileJson, fc.constantFrom("", "{", "\u0000", "a=%zz", "a=1&a=1", "x".repeat(1_048_577))),
    }),
  },
);

const contentType = fc.oneof(
  { weight: 12, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "",
      "text/plain",
      "application/json; charset=utf-16",
      "application/merge-patch+json",
      "multipart/form-data; boundary=x",
      "application/x-www-form-urlencoded",
      "application/json, text/plain",
    ),
  },
);

export const attacks: fc.Arbitrary<Attack> = fc.record({
  base: index,
  segment: fc.oneof(
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.record({ at: index, text: hostileSegment }) },
  ),
  query: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    {
      weight: 2,
      arbitrary: fc.array(
        fc.record({
          at: fc.oneof({ weight: 6, arbitrary: index }, { weight: 1, arbitrary: fc.constant("unknown" as const) }),
          value: hostileQueryValue,
        }),
        { minLength: 1, maxLength: 3 },
      ),
    },
  ),
  bearer,
  contentType,
  body,
});
