import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { closeFrame, frameReader } from "../src/forward/web-socket-frames.ts";

/** A frame with a payload of this length, in the shortest or a longer spelling of it. */
function frame(length: number, isMasked: boolean, spelling: 7 | 16 | 64): Buffer {
  const mask = isMasked ? 0x80 : 0;
  const head =
    length < 126 && spelling === 7
      ? Buffer.from([0x82, mask | length])
      : length < 65_536 && spelling !== 64
        ? Buffer.from([0x82, mask | 126, length >> 8, length & 0xff])
        : Buffer.concat([Buffer.from([0x82, mask | 127, 0, 0, 0, 0]), uint32(length)]);
  return Buffer.concat([head, Buffer.alloc(isMasked ? 4 : 0), Buffer.alloc(length, 0x88)]);
}

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

const frames = fc.array(
  fc.tuple(fc.oneof(fc.nat(130), fc.nat(70_000)), fc.boolean(), fc.constantFrom(7 as const, 16 as const, 64 as const)),
  { maxLength: 5 },
);

describe("the frames of a WebSocket", () => {
  test("are counted right wherever the bytes are cut", () => {
    fc.assert(
      fc.property(frames, fc.array(fc.nat(200_000), { maxLength: 8 }), (parts, cuts) => {
        const each = parts.map((part) => frame(...part));
        const bytes = Buffer.concat(each);
        let end = 0;
        const ends = new Set([0, ...each.map(({ length }) => (end += length))]);
        const reader = frameReader();
        let at = 0;
        for (const cut of [...cuts.map((n) => n % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)) {
          reader.push(bytes.subarray(at, cut));
          at = cut;
          expect(reader.isBetweenFrames()).toBe(ends.has(at));
        }
      }),
    );
  });

  test("a close frame holds 1008 and at most 123 bytes of reason", () => {
    expect(closeFrame("AGENT_REVOKED")).toEqual(Buffer.from("\x88\x0f\x03\xf0AGENT_REVOKED", "latin1"));
    expect(closeFrame("x".repeat(500))).toHaveLength(2 + 2 + 123);
  });
});
