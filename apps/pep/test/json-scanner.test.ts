import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createJsonScanner, type JsonListener } from "../src/protocols/mcp/json-scanner.ts";

const silent: JsonListener = { opened() {}, closed() {}, scalar() {}, isWanted: () => true };

function accepts(text: string, pieceBytes: number, maxDepth = 64): boolean {
  const scanner = createJsonScanner(silent, maxDepth);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) scanner.write(bytes.subarray(at, at + pieceBytes));
  return scanner.end();
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const piece = fc.constantFrom(
  ...['{"a":1}', "[1,2]", '"x"', "true", "null", "-1.5e+3", "0", "{", "}", "[", "]", ",", ":", '"', "\\", "\\u00e9"],
  ...[
    "\\ud8",
    "\n",
    " ",
    "\t",
    "\v",
    "\u00a0",
    "\ufeff",
    "NaN",
    "01",
    "1.",
    ".5",
    "-",
    "e",
    "+",
    "tru",
    "//",
    "'",
    "\0",
  ],
);

describe("a scanner accepts exactly what JSON.parse accepts, wherever it is cut", () => {
  test("of values, whole and garbled", () =>
    fc.assert(
      fc.property(
        fc.json(),
        fc.array(fc.tuple(fc.nat(), piece), { maxLength: 2 }),
        fc.integer({ min: 1, max: 9 }),
        (json, changes, size) => {
          const text = changes.reduce((given, [at, put]) => {
            const index = at % (given.length + 1);
            return given.slice(0, index) + put + given.slice(index + (at % 2));
          }, json);
          expect(accepts(text, size)).toBe(isJson(text));
        },
      ),
      { numRuns: 3_000 },
    ));

  test("of pieces put together", () =>
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 7 }), fc.integer({ min: 1, max: 9 }), (pieces, size) => {
        const text = pieces.join("");
        expect(accepts(text, size)).toBe(isJson(text));
      }),
      { numRuns: 5_000 },
    ));
});

test("nesting beyond the limit is refused", () => {
  expect(accepts("[".repeat(8) + "]".repeat(8), 3, 8)).toBe(true);
  expect(accepts("[".repeat(9) + "]".repeat(9), 3, 8)).toBe(false);
});
