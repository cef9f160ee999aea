import { survivesCanonicalization } from "./json-number.ts";
import { refuse } from "./refusal.ts";

/** What `JSON.parse` hides: members it drops, numbers it changes, text that is not Unicode. */
export interface JsonFacts {
  /** The depth of the shallowest object with a repeated member (the outermost value has depth 1); null where none repeats. */
  readonly duplicateDepth: number | null;
  /** Some number does not survive canonicalization. */
  readonly unsafeNumber: boolean;
  /** Some string is not well-formed Unicode, be it written raw or escaped. */
  readonly loneSurrogate: boolean;
}

export interface StrictJson extends JsonFacts {
  readonly ok: true;
  readonly value: unknown;
}

/** `encoding`: bytes that are not UTF-8, or a byte order mark. */
export const jsonFaults = ["encoding", "syntax", "depth"] as const;
export type JsonFault = (typeof jsonFaults)[number];

export interface StrictJsonOptions {
  /** Objects and arrays may nest this deep, the outermost counted. Default 64. */
  readonly maxDepth?: number;
}

/** How deep parameters may nest (docs/reference/tokens.md#parameter-binding). */
export const maxParamsDepth = 64;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const byteOrderMark = "\uFEFF";

/**
 * Parses one JSON text (RFC 8259) and reports what its value hides. `__proto__` and `constructor` are members
 * like others. Time and memory are linear in the text; nesting is refused before anything recurses into it. Bounding
 * the size is the caller's.
 */
export function parseStrictJson(
  json: string | Uint8Array,
  { maxDepth = maxParamsDepth }: StrictJsonOptions = {},
): StrictJson | { readonly ok: false; readonly cause: JsonFault } {
  const text = typeof json === "string" ? json : decodeUtf8(json);
  if (text === undefined || text.startsWith(byteOrderMark)) return refuse("encoding");
  const plain = readPlain(text, maxDepth);
  if (plain !== undefined)
    return { ok: true, value: plain, duplicateDepth: null, unsafeNumber: false, loneSurrogate: false };
  try {
    const facts = readFacts(text, maxDepth);
    return facts === "depth" ? refuse("depth") : { ok: true, value: JSON.parse(text), ...facts };
  } catch (error) {
    if (error instanceof SyntaxError) return refuse("syntax");
    throw error;
  }
}

/** For longer texts the fast path seldom pays. */
const maxPlainLength = 16_384;

/**
 * Fast path: the value of a text that `JSON.stringify` would write the same. Then no member was dropped and no number
 * changed. Numeric escapes, which can spell lone surrogates, take the slow path.
 */
function readPlain(text: string, maxDepth: number): unknown {
  if (text.length > maxPlainLength || text.includes("\\u") || !text.isWellFormed()) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return nestsWithin(value, maxDepth) && JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

const nestsWithin = (value: unknown, depth: number): boolean =>
  typeof value !== "object" ||
  value === null ||
  (depth > 0 && Object.values(value).every((member) => nestsWithin(member, depth - 1)));

/** Undefined for bytes that are not UTF-8; a byte order mark is kept. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

const isExact = ({ duplicateDepth, unsafeNumber, loneSurrogate }: JsonFacts): boolean =>
  duplicateDepth === null && !unsafeNumber && !loneSurrogate;

/** The value of a JSON text that has one reading; undefined for any other, and for what is not an object. */
export function parseExactObject(json: string | Uint8Array, options?: StrictJsonOptions): object | undefined {
  const parsed = parseStrictJson(json, options);
  return parsed.ok && isExact(parsed) && isJsonObject(parsed.value) ? parsed.value : undefined;
}

/** Whether a JSON value is an object: neither null nor an array. */
export const isJsonObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What was read so far; `open` has the member names of each object still open, and null for an array. */
type Scan = { -readonly [Fact in keyof JsonFacts]: JsonFacts[Fact] } & { readonly open: (Set<string> | null)[] };

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a];
const [openBrace, openBracket, closeBrace, closeBracket] = [0x7b, 0x5b, 0x7d, 0x5d];
const [minus, zero, nine] = [0x2d, 0x30, 0x39];

/**
 * Reads strings, numbers and brackets of a text that may yet prove to be no JSON: whether it is, `JSON.parse` decides.
 * Throws SyntaxError for a malformed escape.
 */
function readFacts(text: string, maxDepth: number): JsonFacts | "depth" {
  const scan: Scan = { open: [], duplicateDepth: null, unsafeNumber: false, loneSurrogate: !text.isWellFormed() };
  let latest = "";
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      const end = endOfString(text, at);
      latest = text.slice(at, end);
      if (latest.includes("\\")) scan.loneSurrogate ||= !unescaped(latest).isWellFormed();
      at = end;
    } else if (code === minus || (code >= zero && code <= nine)) {
      const end = endOfNumber(text, at);
      scan.unsafeNumber ||= !survivesCanonicalization(text.slice(at, end));
      at = end;
    } else {
      if (code === colon) noteMember(scan, unescaped(latest));
      else if (code === closeBrace || code === closeBracket) scan.open.pop();
      else if (code === openBrace || code === openBracket) {
        if (scan.open.length === maxDepth) return "depth";
        scan.open.push(code === openBrace ? new Set() : null);
      }
      at++;
    }
  }
  const { open, ...facts } = scan;
  return facts;
}

function noteMember(scan: Scan, name: string): void {
  const members = scan.open.at(-1);
  const depth = scan.open.length;
  if (members?.has(name)) scan.duplicateDepth = Math.min(scan.duplicateDepth ?? depth, depth);
  members?.add(name);
}

/** The text of a JSON string; `"a"` and `"\u0061"` are the same member. */
const unescaped = (raw: string): string => (raw.includes("\\") ? JSON.parse(raw) : raw.slice(1, -1));

export function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at + 1;
}

const numberCharacters = new Set([..."0123456789+-.eE"].map((char) => char.charCodeAt(0)));

function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (numberCharacters.has(text.charCodeAt(at))) at++;
  return at;
}
