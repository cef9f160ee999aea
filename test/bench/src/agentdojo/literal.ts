/** Reads a Python literal; what it computes becomes the value that `invent` has for its source. */
export function readLiteral(source: string, invent: (expression: string) => unknown): unknown {
  const reader = { source: source.trim(), at: 0, invent };
  return valueAt(reader);
}

interface Reader {
  readonly source: string;
  at: number;
  readonly invent: (expression: string) => unknown;
}

const constants: Readonly<Record<string, unknown>> = { True: true, False: false, None: null };

function valueAt(reader: Reader): unknown {
  const start = skipBlanks(reader);
  const end = endOfExpression(reader.source, start);
  const text = reader.source.slice(start, end).trim();
  reader.at = end;
  if (text in constants) return constants[text];
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  if (isString(text)) return unquoted(text);
  const isComputed = /\bfor\b[^'"]*\bin\b/.test(text);
  if (/^\[.*\]$/s.test(text)) return isComputed ? [reader.invent(text)] : itemsOf(text, reader.invent);
  if (/^\{.*\}$/s.test(text)) return Object.fromEntries(membersOf(text, reader.invent));
  return reader.invent(text);
}

function itemsOf(text: string, invent: Reader["invent"]): readonly unknown[] {
  return partsOf(text).map((part) => readLiteral(part, invent));
}

function membersOf(text: string, invent: Reader["invent"]): readonly (readonly [string, unknown])[] {
  return partsOf(text).map((part) => {
    const [, name = "", value = ""] = /^\s*'([^']*)'\s*:(.*)$/s.exec(part) ?? [];
    return [name, readLiteral(value, invent)];
  });
}

/** What stands between commas, inside the brackets. */
function partsOf(text: string): readonly string[] {
  const inner = text.slice(1, -1);
  const parts: string[] = [];
  for (let at = 0; at < inner.length; at++) {
    const end = endOfExpression(inner, at);
    parts.push(inner.slice(at, end));
    at = end;
  }
  return parts.filter((part) => part.trim() !== "");
}

function skipBlanks(reader: Reader): number {
  while (/\s/.test(reader.source[reader.at] ?? "")) reader.at++;
  return reader.at;
}

/** The index of the next comma outside of strings and brackets. */
function endOfExpression(source: string, from: number): number {
  let depth = 0;
  let quote: string | undefined;
  for (let at = from; at < source.length; at++) {
    const char = source[at] ?? "";
    if (quote !== undefined) {
      if (char === "\\") at++;
      else if (char === quote) quote = undefined;
    } else if (char === "'" || char === '"') quote = char;
    else if ("([{".includes(char)) depth++;
    else if (")]}".includes(char)) depth--;
    else if (char === "," && depth === 0) return at;
  }
  return source.length;
}

const isString = (text: string): boolean => /^(['"])(?:(?!\1)[^\\]|\\.)*\1$/s.test(text);

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t" };
const unquoted = (text: string): string =>
  text.slice(1, -1).replace(/\\(.)/gs, (_, char: string) => escapes[char] ?? char);
