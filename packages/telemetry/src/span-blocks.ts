/** A text as bytes, until it is released. */
export interface KeptText {
  readonly block: Block;
  readonly start: number;
  readonly end: number;
}

interface Block {
  readonly bytes: Buffer;
  used: number;
  texts: number;
}

/** Holds some hundred spans. */
const blockBytes = 256 * 1024;

const blockOf = (size: number): Block => ({ bytes: Buffer.allocUnsafeSlow(size), used: 0, texts: 0 });

/**
 * Texts as bytes, in blocks that are used again. A buffer for each is memory outside of V8's heap: 3,000 of them a second
 * had it collect the whole heap every second (test/bench/README.md#what-telemetry-costs).
 */
export function spanBlocks() {
  const free: Block[] = [];
  let current = blockOf(blockBytes);

  const roomFor = (bytes: number): Block => {
    if (current.used + bytes <= current.bytes.length) return current;
    if (bytes > blockBytes) return blockOf(bytes);
    current = free.pop() ?? blockOf(blockBytes);
    return current;
  };

  return {
    keep(text: string): KeptText {
      // UTF-8 takes three bytes for a UTF-16 unit at most.
      const block = roomFor(text.length * 3);
      const start = block.used;
      block.used += block.bytes.write(text, start);
      block.texts += 1;
      return { block, start, end: block.used };
    },
    release({ block }: KeptText): void {
      block.texts -= 1;
      if (block.texts > 0) return;
      block.used = 0;
      if (block !== current && block.bytes.length === blockBytes) free.push(block);
    },
  };
}
