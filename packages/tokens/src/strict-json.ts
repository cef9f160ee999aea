import { survivesCanonicalization } from "./json-number.ts";

/** What `JSON.parse` hides: members it drops, numbers it changes, text that is no Unicode. */
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

/** How deep parameters may nest (contract: Tokens, `params_hash`). */
export const maxParamsDepth = 64;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Parses one JSON text (RFC 8259) and tells what its value alone would not. `__proto__` and `constructor` are members
 * like others. Time and memory are linear in the text; nesting is refused before anything recurses into it. Bounding
 * the size is the caller's.
 */
export function parseStrictJson(
  json: string | Uint8Array,
  { maxDepth = maxParamsDepth }: StrictJsonOptions = {},
): StrictJson | { readonly ok: false; readonly cause: JsonFault } {
  try {
    const text = typeof json === "string" ? json : utf8.decode(json);
    if (text.startsWith("\uFEFF")) return { ok: false, cause: "encoding" };
    const facts = readFacts(text, maxDepth);
    return facts === "depth" ? { ok: false, cause: "depth" } : { ok: true, value: JSON.parse(text), ...facts };
  } catch (error) {
    return { ok: false, cause: error instanceof SyntaxError ? "syntax" : "encoding" };
  }
}

const isExact = ({ duplicateDepth, unsafeNumber, loneSurrogate }: JsonFacts): boolean =>
  duplicateDepth === null && !unsafeNumber && !loneSurrogate;

/** The value of a JSON text that says exactly one thing; undefined for any other, and for what is no object. */
export function parseExactObject(json: string | Uint8Array, options?: StrictJsonOptions): object | undefined {
  const parsed = parseStrictJson(json, options);
  return parsed.ok && isExact(parsed) && isJsonObject(parsed.value) ? parsed.value : undefined;
}

export const isJsonObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Reads strings, numbers and brackets of a text that may yet prove to be no JSON: whether it is, `JSON.parse` decides.
 * Throws SyntaxError for a malformed escape.
 */
function readFacts(text: string, maxDepth: number): JsonFacts | "depth" {
  /** The member names of each open object; null for an open array. */
  const open: (Set<string> | null)[] = [];
  let latest = "";
  let duplicateDepth: number | null = null;
  let unsafeNumber = false;
  let loneSurrogate = !text.isWellFormed();

  for (let at = 0; at < text.length; ) {
    const char = text.charAt(at);
    if (char === '"') {
      const end = endOfString(text, at);
      const raw = text.slice(at, end);
      if (raw.includes("\\")) {
        latest = JSON.parse(raw);
        loneSurrogate ||= !latest.isWellFormed();
      } else {
        latest = raw.slice(1, -1);
      }
      at = end;
    } else if (char === "-" || isDigit(char)) {
      const end = endOfNumber(text, at);
      unsafeNumber ||= !survivesCanonicalization(text.slice(at, end));
      at = end;
    } else {
      at++;
      if (char === "{" || char === "[") {
        if (open.length === maxDepth) return "depth";
        open.push(char === "{" ? new Set() : null);
      } else if (char === "}" || char === "]") {
        open.pop();
      } else if (char === ":") {
        const members = open.at(-1);
        if (members?.has(latest) && (duplicateDepth === null || open.length < duplicateDepth))
          duplicateDepth = open.length;
        members?.add(latest);
      }
    }
  }
  return { duplicateDepth, unsafeNumber, loneSurrogate };
}

const isDigit = (char: string): boolean => char >= "0" && char <= "9";

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && /[\d.eE+-]/.test(text.charAt(at))) at++;
  return at;
}
