/**
 * The whole body; undefined as soon as it is longer than `capBytes`, and the rest is then cancelled. `onPiece` takes the
 * pieces as they come, and the body is empty then.
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array> | null | undefined,
  capBytes: number,
  onPiece?: (piece: Uint8Array) => void,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const iterator = body?.[Symbol.asyncIterator]();
  for (let next = await iterator?.next(); next?.done === false; next = await iterator?.next()) {
    length += next.value.byteLength;
    if (length <= capBytes) {
      if (onPiece) onPiece(next.value);
      else chunks.push(next.value);
      continue;
    }
    // Not awaited: half of a cloned body is cancelled only when the other half is read.
    iterator?.return?.().catch(() => {});
    return undefined;
  }
  const whole = new Uint8Array(onPiece ? 0 : length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}
