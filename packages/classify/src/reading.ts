import { folded } from "./folded.ts";
import { decoded } from "./sound-path.ts";

/** There is no such value, in any reading. */
export const missing = Symbol("missing");
/** Two readers could read the value differently: it satisfies no condition, `absent` included. */
export const unclear = Symbol("unclear");

/** A member's name, or an array's index, of a JSON pointer (RFC 6901 section 4). */
export interface Token {
  readonly name: string;
  readonly folded: string;
  /** Undefined where the name is no index. */
  readonly index: number | undefined;
}

export const tokenOf = (name: string): Token => ({
  name,
  folded: folded(name),
  index: /^(?:0|[1-9]\d{0,6})$/.test(name) ? Number(name) : undefined,
});

/** One step of a pointer. A member whose name differs in case alone is the same to some readers, such as Go's. */
export function stepInto(value: unknown, token: Token): unknown {
  if (value === missing) return missing;
  if (typeof value !== "object" || value === null) return unclear;
  if (Array.isArray(value)) {
    if (token.index === undefined) return unclear;
    return token.index < value.length ? value[token.index] : missing;
  }
  let found: unknown = missing;
  for (const name of Object.keys(value)) {
    if (name === token.name) found = (value as Record<string, unknown>)[name];
    else if (folded(name) === token.folded) return unclear;
  }
  return found;
}

/** A value that a reader with doubles and one with decimals, or with UTF-8, could read differently is unclear. */
export function clear(value: unknown): unknown {
  if (typeof value === "number") return Math.abs(value) <= Number.MAX_SAFE_INTEGER ? value : unclear;
  if (typeof value === "string") return value.isWellFormed() ? value : unclear;
  return value;
}

/** A named path segment as it was sent. Parameters, and what a second decoding would change, are unclear. */
export function segmentValue(segment: string | undefined): unknown {
  if (segment === undefined) return unclear;
  const text = plainText(segment);
  return text === undefined || /[;?#/\\]/.test(text) ? unclear : text;
}

/**
 * One parameter of a query as it was sent. Servers disagree on repeated names, on names in another case, on `name[]` and
 * `na.me` (PHP), on `;` between parameters, on `+`, and on a name without a value.
 */
export function queryValue(query: string, name: string): unknown {
  if (query.includes(";")) return unclear;
  const wanted = liberalName(name);
  let found: unknown = missing;
  for (const part of query.split("&")) {
    const cut = part.indexOf("=");
    const own = decoded(cut === -1 ? part : part.slice(0, cut));
    if (own === undefined || own.includes("%")) return unclear;
    if (liberalName(own) !== wanted) continue;
    if (found !== missing || own !== name || cut === -1) return unclear;
    found = plainText(part.slice(cut + 1)) ?? unclear;
  }
  return found;
}

const liberalName = (name: string): string =>
  folded(name.replace(/(?<=.)\[.*/s, "").replaceAll("+", " "))
    .trim()
    .replace(/[. ]/g, "_");

/** Undefined where servers could decode it differently: `+`, a second decoding, control characters. */
function plainText(raw: string): string | undefined {
  const text = raw.includes("+") ? undefined : decoded(raw);
  return text === undefined || /[%\p{Cc}]/u.test(text) ? undefined : text;
}
