import type { Readable } from "node:stream";

/** The lines of a byte stream, without their ends. A line ends at a line feed alone: JSON holds other line ends in texts. */
export async function* byteLines(input: Readable): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  for await (const chunk of input as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf("\n"); end !== -1; end = chunk.indexOf("\n", from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, end)]);
      parts = [];
      from = end + 1;
    }
    parts.push(chunk.subarray(from));
  }
}
