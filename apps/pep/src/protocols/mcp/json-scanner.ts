/** Hears what a scanner finds. `depth` counts the containers around; offsets count bytes from the text's first. */
export interface JsonListener {
  opened(container: "{" | "[", depth: number, offset: number): void;
  /** `end`: the offset after its bracket. */
  closed(depth: number, end: number): void;
  /** A string between its quotes, a number or a literal. `text` where `isWanted` said so. */
  scalar(kind: "name" | "string" | "other", depth: number, start: number, end: number, text: string): void;
  /** Whether the text of a scalar is to be kept until its end. */
  isWanted(isName: boolean, depth: number): boolean;
}

const code = (char: string): number => char.charCodeAt(0);
const [quote, backslash, comma, colon, zero, nine] = [
  code('"'),
  code("\\"),
  code(","),
  code(":"),
  code("0"),
  code("9"),
];
const [openBrace, closeBrace, openBracket, closeBracket] = [code("{"), code("}"), code("["), code("]")];
const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isDigit = (byte: number): boolean => byte >= zero && byte <= nine;
const isHex = (byte: number): boolean => isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);

/** A longer name or identifier is no message's. */
const maxWantedBytes = 65_536;

type Expected = "value" | "value or ]" | "name" | "name or }" | "colon" | "comma or end" | "nothing";
type Inside = "string" | "escape" | "number" | "literal" | undefined;

/**
 * Reads one JSON text (RFC 8259) piece by piece, so that no text holds the loop longer than its pieces do. Each byte is
 * read once and none is kept but wanted scalars. UTF-8 is the caller's to check.
 */
export function createJsonScanner(listener: JsonListener, maxDepth: number) {
  const containers: number[] = [];
  let expected: Expected = "value";
  let inside: Inside;
  let isName = false;
  /** Hexadecimal digits that an escape still needs. */
  let hexDigits = 0;
  let start = 0;
  let offset = 0;
  let isFaulty = false;
  let kept: Buffer[] | undefined;
  let keptBytes = 0;
  let plain = "";

  const fail = () => {
    isFaulty = true;
  };
  const keep = (bytes: Uint8Array) => {
    if (!kept) return;
    keptBytes += bytes.length;
    if (keptBytes > maxWantedBytes) return fail();
    kept.push(Buffer.from(bytes));
  };
  const begin = (what: Inside, at: number) => {
    inside = what;
    start = at;
    kept = listener.isWanted(isName, containers.length) ? [] : undefined;
    keptBytes = 0;
  };
  const afterValue = () => {
    expected = containers.length === 0 ? "nothing" : "comma or end";
  };
  const finish = (kind: "string" | "other", end: number) => {
    inside = undefined;
    const text = kept === undefined ? "" : Buffer.concat(kept).toString("utf8");
    listener.scalar(isName ? "name" : kind, containers.length, start, end, text);
    if (isName) expected = "colon";
    else afterValue();
    isName = false;
  };

  const open = (byte: number, at: number) => {
    if (containers.length === maxDepth) return fail();
    listener.opened(byte === openBrace ? "{" : "[", containers.length, at);
    containers.push(byte);
    expected = byte === openBrace ? "name or }" : "value or ]";
  };
  const close = (byte: number, at: number) => {
    const opening = containers.pop();
    const isEmpty = expected === "name or }" || expected === "value or ]";
    if (opening !== byte - 2 || !(isEmpty || expected === "comma or end")) return fail();
    listener.closed(containers.length, at + 1);
    afterValue();
  };
  const separate = () => {
    expected = containers.at(-1) === openBrace ? "name" : "value";
  };

  /** One byte outside of strings, numbers and literals. */
  const structure = (byte: number, at: number) => {
    if (isSpace(byte)) return;
    if (byte === closeBrace || byte === closeBracket) return close(byte, at);
    if (expected === "comma or end") return byte === comma ? separate() : fail();
    if (expected === "colon") {
      expected = "value";
      return byte === colon ? undefined : fail();
    }
    if (expected === "nothing") return fail();
    isName = expected === "name" || expected === "name or }";
    if (byte === quote) return begin("string", at);
    if (isName) return fail();
    if (byte === openBrace || byte === openBracket) return open(byte, at);
    begin(byte === code("-") || isDigit(byte) ? "number" : "literal", at);
    plain = String.fromCharCode(byte);
  };

  /** Up to the end of a string or of the piece. @returns the index after it */
  const string = (bytes: Uint8Array, from: number): number => {
    let at = from;
    while (at < bytes.length && bytes[at] !== quote && bytes[at] !== backslash && (bytes[at] ?? 0) >= 0x20) at++;
    keep(bytes.subarray(from, at));
    if (at === bytes.length) return at;
    if (bytes[at] === quote) finish("string", offset + at + 1);
    else if (bytes[at] === backslash) {
      inside = "escape";
      keep(bytes.subarray(at, at + 1));
    } else fail();
    return at + 1;
  };
  const escaped = (bytes: Uint8Array, at: number): number => {
    const byte = bytes[at] ?? 0;
    keep(bytes.subarray(at, at + 1));
    if (hexDigits > 0) {
      if (!isHex(byte)) fail();
      hexDigits -= 1;
    } else if (byte === code("u")) hexDigits = 4;
    else if (!'"\\/bfnrt'.includes(String.fromCharCode(byte))) fail();
    if (hexDigits === 0) inside = "string";
    return at + 1;
  };

  /** Up to the end of a number or literal or of the piece; its last byte shows in the one after. */
  const rest = (bytes: Uint8Array, from: number): number => {
    let at = from;
    while (at < bytes.length && plain.length < maxPlainLength && isOfPlain(bytes[at] ?? 0)) {
      plain += String.fromCharCode(bytes[at++] ?? 0);
    }
    if (plain.length === maxPlainLength) fail();
    else if (at < bytes.length) endPlain(offset + at);
    return at;
  };
  const endPlain = (end: number) => {
    const shape = inside === "number" ? number : literal;
    if (!shape.test(plain)) return fail();
    keep(Buffer.from(plain));
    finish("other", end);
  };

  return {
    /** @returns false once the text is no JSON, or nests deeper than `maxDepth` */
    write(bytes: Uint8Array): boolean {
      let at = 0;
      while (at < bytes.length && !isFaulty) {
        if (inside === "string") at = string(bytes, at);
        else if (inside === "escape") at = escaped(bytes, at);
        else if (inside !== undefined) at = rest(bytes, at);
        else structure(bytes[at] ?? 0, offset + at++);
      }
      offset += bytes.length;
      return !isFaulty;
    },
    /** @returns whether the text is complete */
    end(): boolean {
      if (!isFaulty && (inside === "number" || inside === "literal")) endPlain(offset);
      return !isFaulty && inside === undefined && expected === "nothing";
    },
  };
}

/** More digits than any number needs. */
const maxPlainLength = 4096;
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const literal = /^(?:true|false|null)$/;
/** Letters, digits and the signs of numbers. */
const isOfPlain = (byte: number): boolean =>
  isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a) || byte === 0x2b || byte === 0x2d || byte === 0x2e;
