const lineFeed = 0x0a;

export interface LineEvents {
  /** Without its line feed. */
  line(bytes: Buffer): void;
  /** A line became longer than the limit; nothing is read after it. */
  tooLong(): void;
}

/** Cuts a byte stream into lines of up to `maxBytes`. What follows the last line feed is no line. */
export function lineReader(maxBytes: number, { line, tooLong }: LineEvents) {
  let parts: Buffer[] = [];
  let bytes = 0;
  let isOver = false;
  const keep = (part: Buffer) => {
    bytes += part.length;
    if (bytes > maxBytes) isOver = true;
    else parts.push(part);
  };
  return {
    push(chunk: Buffer): void {
      let from = 0;
      while (!isOver) {
        const end = chunk.indexOf(lineFeed, from);
        keep(chunk.subarray(from, end === -1 ? undefined : end));
        if (isOver) tooLong();
        if (isOver || end === -1) return;
        const whole = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
        parts = [];
        bytes = 0;
        from = end + 1;
        line(whole);
      }
    },
  };
}
