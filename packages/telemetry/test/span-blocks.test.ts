import { expect, test } from "vitest";
import { type KeptText, spanBlocks } from "../src/span-blocks.ts";

const textOf = ({ block, start, end }: KeptText) => block.bytes.toString("utf8", start, end);

/** Of many lengths, some beyond any block, and of all numbers of bytes a character. */
const texts = Array.from({ length: 500 }, (_, n) => "aé€😀".charAt(n % 4).repeat(n % 50 === 49 ? 300_000 : n * 13) + n);

test("the bytes of a text stay as they are until it is released, while others come and go", () => {
  const blocks = spanBlocks();
  const kept: [string, KeptText][] = [];
  for (const text of texts) {
    kept.push([text, blocks.keep(text)]);
    // Three of four leave again, so that blocks are used again while others are in use.
    if (kept.length % 4 === 0) for (const [, old] of kept.splice(kept.length - 3, 3)) blocks.release(old);
  }
  for (const [text, each] of kept) expect(textOf(each) === Buffer.from(text).toString()).toBe(true);
});

test("texts that come and go take the memory of those that wait at once", () => {
  const blocks = spanBlocks();
  const used = new Set<Buffer>();
  const waiting: KeptText[] = [];
  for (let n = 0; n < 100_000; n += 1) {
    const kept = blocks.keep("x".repeat(1_800));
    used.add(kept.block.bytes);
    waiting.push(kept);
    if (waiting.length === 1_000) for (const old of waiting.splice(0)) blocks.release(old);
  }
  // 1,000 of up to three times 1,800 bytes, and one block that is not full.
  expect(used.size).toBeLessThanOrEqual(Math.ceil((1_000 * 1_800 * 3) / (256 * 1024)) + 1);
});
