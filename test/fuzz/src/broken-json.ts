import fc from "fast-check";
import { mutated } from "./mutated-text.ts";

/** Pieces of JSON, and characters that JSON text may not contain literally. */
export const jsonMarks = [
  ...["{", "}", "[", "]", ",", ":", '"', "\\", "\\u0000", "\\ud800", "null", "1e400", "9007199254740993"],
  ...[" ", "\n", "\u0000"],
];

/** Edits that break JSON: repeated members, names of Object's members, other types, nesting, bad text. */
const jsonPieces = [
  ...jsonMarks,
  ...["true", "-1", "0", '""', "{}", "[]", "[".repeat(80)],
  ...['"__proto__":{"a":1},', '"constructor":1,', '"name":"x",', '"kid":"k1",'],
  ...["\u00ef\u00bb\u00bf", "\u00ff", "../", "//", "https://evil.example/"],
];

/** JSON documents after some edits, and unrelated documents. */
export const brokenJson = (...documents: readonly object[]): fc.Arbitrary<string> =>
  fc.oneof(
    {
      weight: 9,
      arbitrary: mutated(
        documents.map((document) => JSON.stringify(document)),
        jsonPieces,
      ),
    },
    { weight: 1, arbitrary: fc.json({ maxDepth: 4 }) },
  );

/** Documents with some member, at any depth, replaced by any value: well-formed, with another shape. */
export const misshapen = <T extends object>(...documents: readonly T[]): fc.Arbitrary<unknown> =>
  fc.tuple(fc.constantFrom(...documents), fc.nat(10_000), odd).map(([document, at, value]) => {
    let left = at % countOf(document);
    return JSON.parse(JSON.stringify(document), (_name, member) => (left-- === 0 ? value : member));
  });

const odd = fc.oneof(
  fc.constantFrom<unknown>(null, true, -1, 0, 1.5, 2 ** 53, "", "\u0000", "x".repeat(300), [], {}, [[]], { a: null }),
  fc.jsonValue({ maxDepth: 2 }),
);

function countOf(value: unknown): number {
  return typeof value === "object" && value !== null
    ? 1 + Object.values(value).reduce<number>((sum, member) => sum + countOf(member), 0)
    : 1;
}

/** A text cut into random pieces, as it may arrive. */
export const inPieces = (text: string): fc.Arbitrary<readonly string[]> =>
  fc.array(fc.nat(text.length), { maxLength: 5 }).map((cuts) => {
    const ends = [...cuts, text.length].sort((a, b) => a - b);
    return ends.map((end, at) => text.slice(at === 0 ? 0 : ends[at - 1], end));
  });
