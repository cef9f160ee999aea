import fc from "fast-check";
import { expect, test } from "vitest";
import { lineReader } from "../src/stdio/line-reader.ts";
import { onOneLine, readMessage } from "../src/stdio/message.ts";

const lines = fc.array(
  fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 0x0a))),
);

/** A byte stream in pieces, cut anywhere. */
const pieces = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
};

test("lines are the same however their stream is cut; what follows the last line feed is none", () => {
  fc.assert(
    fc.property(lines, fc.uint8Array({ maxLength: 3 }), fc.array(fc.nat(), { maxLength: 8 }), (written, rest, cuts) => {
      const tail = Buffer.from(rest.filter((byte) => byte !== 0x0a));
      const read: Buffer[] = [];
      const reader = lineReader(12, { line: (line) => read.push(Buffer.from(line)), tooLong: () => expect.fail() });
      const stream = Buffer.concat([...written.flatMap((line) => [line, Buffer.from("\n")]), tail]);
      for (const piece of pieces(stream, cuts)) reader.push(piece);
      expect(read).toEqual(written);
    }),
  );
});

test("a line over the limit is reported once, and nothing is read after it", () => {
  const read: string[] = [];
  let reports = 0;
  const reader = lineReader(3, { line: (line) => read.push(line.toString()), tooLong: () => (reports += 1) });
  for (const piece of ["abc\nde", "fg", "h\nabc\n"]) reader.push(Buffer.from(piece));
  expect([read, reports]).toEqual([["abc"], 1]);
});

test("a message of any spelling becomes one line with the same value, of the same length", () => {
  const space = fc.constantFrom("", " ", "\n", "\r\n", "\t\n");
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(space, { minLength: 4, maxLength: 4 }), fc.nat(4), (value, spaces, indent) => {
      const [a, b, c, d] = spaces;
      const body = `${a}{${b}"jsonrpc":"2.0",${c}"id":1,"method":"m","params":{"v":${JSON.stringify(value, null, indent)}}}${d}`;
      const line = onOneLine(Buffer.from(body));
      expect(line.toString()).not.toMatch(/[\r\n]/);
      expect(line.toString()).toBe(body.replaceAll(/[\r\n]/g, " "));
      expect(JSON.parse(line.toString())).toEqual(JSON.parse(body));
      expect(readMessage(line)).toMatchObject({ kind: "request", id: 1, method: "m" });
    }),
  );
});
