import { Readable } from "node:stream";

const block = Buffer.alloc(64 * 1024, "x");

function* blocks(count: number): Generator<Buffer> {
  for (let left = count; left > 0; left -= block.length) yield left < block.length ? block.subarray(0, left) : block;
}

/** So many bytes of nothing in particular: at once where they are few, else as a stream that is read as it is needed. */
export const someBytes = (count: number): Buffer | Readable =>
  count <= block.length ? block.subarray(0, count) : Readable.from(blocks(count), { objectMode: false });
