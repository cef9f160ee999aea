/** Follows the frames of one direction of a WebSocket (RFC 6455 section 5.2); their content is not kept. */
export function frameReader() {
  let header: number[] = [];
  let payloadLeft = 0;
  return {
    push(chunk: Buffer) {
      for (let at = 0; at < chunk.length; ) {
        if (payloadLeft > 0) {
          const taken = Math.min(payloadLeft, chunk.length - at);
          payloadLeft -= taken;
          at += taken;
          continue;
        }
        header.push(chunk[at] ?? 0);
        at += 1;
        if (header.length < headerLength(header)) continue;
        payloadLeft = payloadLength(header);
        header = [];
      }
    },
    /** A frame of our own can follow. */
    isBetweenFrames: () => header.length === 0 && payloadLeft === 0,
  };
}

/** Bytes of the extended length, by the seven bits that announce it. */
const extendedLength = (lengthBits: number): number => (lengthBits === 126 ? 2 : lengthBits === 127 ? 8 : 0);

function headerLength([, second]: readonly number[]): number {
  if (second === undefined) return 2;
  const maskingKey = second >= 0x80 ? 4 : 0;
  return 2 + extendedLength(second & 0x7f) + maskingKey;
}

function payloadLength(header: readonly number[]): number {
  const lengthBits = (header[1] ?? 0) & 0x7f;
  const extended = header.slice(2, 2 + extendedLength(lengthBits));
  return extended.length === 0 ? lengthBits : extended.reduce((length, byte) => length * 256 + byte, 0);
}

const policyViolation = 1008;
/** What a control frame holds beside the code (RFC 6455 section 5.5). */
const maxReasonBytes = 123;

/** A server's close frame with status 1008 and a reason. */
export function closeFrame(reason: string): Buffer {
  const text = Buffer.from(reason).subarray(0, maxReasonBytes);
  const head = Buffer.from([0x88, 2 + text.length, policyViolation >> 8, policyViolation & 0xff]);
  return Buffer.concat([head, text]);
}
