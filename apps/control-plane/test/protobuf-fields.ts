/** A field of a protobuf message: a number, or the bytes of a text or message. */
export interface Field {
  readonly number: number;
  readonly value: bigint;
  readonly bytes: Buffer;
}

/** Reads the wire format (protobuf.dev/programming-guides/encoding). @throws for what is no message */
export function fieldsOf(message: Uint8Array): readonly Field[] {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const fields: Field[] = [];
  const none = Buffer.alloc(0);
  while (at < bytes.length) {
    const tag = Number(varint());
    const number = tag >> 3;
    const type = tag & 7;
    if (type === 0) fields.push({ number, value: varint(), bytes: none });
    else if (type === 1) {
      fields.push({ number, value: bytes.readBigUInt64LE(at), bytes: none });
      at += 8;
    } else if (type === 2) {
      const length = Number(varint());
      if (at + length > bytes.length) throw new Error("a field ends after its message");
      fields.push({ number, value: 0n, bytes: bytes.subarray(at, at + length) });
      at += length;
    } else if (type === 5) {
      fields.push({ number, value: BigInt(bytes.readUInt32LE(at)), bytes: none });
      at += 4;
    } else throw new Error(`wire type ${type}`);
  }
  return fields;
}

export const textOf = (field: Field | undefined): string => field?.bytes.toString("utf8") ?? "";
