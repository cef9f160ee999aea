import { Readable } from "node:stream";

const block = Buffer.alloc(64 * 1024, "x");

function* blocks(count: number): Generator<Buffer> {
  for (let left = count; left > 0; left -= block.length) yield left < block.length ? block.subarray(0, left) : block;
}

/** Filler bytes of this length: one buffer for a few, else a stream produced on demand. */
export const someBytes = (count: number): Buffer | Readable =>
  count <= block.length ? block.subarray(0, count) : Readable.from(blocks(count), { objectMode: false });
