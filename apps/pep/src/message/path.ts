/**
 * Whether every server reads a path (without its query) the same way: nothing in it is decoded, collapsed or cut before
 * it is matched (docs/reference/enforcement-point.md#ambiguous-paths).
 */
export function isUnambiguousPath(path: string): boolean {
  if (!path.startsWith("/") || notPlain.test(path) || encodedDelimiter.test(path) || encodedTwice.test(path))
    return false;
  const text = decoded(path);
  if (text === undefined || /\p{Cc}/u.test(text)) return false;
  const segments = segmentsOf(path);
  const isSound = (segment: string, index: number) => isSoundSegment(segment, index === segments.length - 1);
  return segments.every(isSound);
}

/** Whether the query can be forwarded unchanged; it has no part in the decision. */
export const isPlainQuery = (query: string): boolean => !notVisible.test(query) && !query.includes("#");

/** The segments after the leading slash; the last is empty where the path ends in a slash. */
export const segmentsOf = (path: string): string[] => path.slice(1).split("/");

/** A segment of an unambiguous path, decoded and cut before its parameters as a liberal server does (RFC 3986 section 3.3). */
export const liberalSegment = (segment: string): string =>
  segment.includes("%") || segment.includes(";")
    ? decodeURIComponent(segment.slice(0, indexOfParameters(segment)))
    : segment;

const notVisible = /[^\x21-\x7e]/;
const notPlain = /[^\x21-\x7e]|[\\#?]/;
const encodedDelimiter = /%(?:2f|5c|00)/i;
const encodedTwice = /%25(?:2e|2f|5c|25)/i;
const dotsBeforeParameters = /^\.*(?:;|%3b)/i;

function isSoundSegment(segment: string, isLast: boolean): boolean {
  // A trailing slash is an empty last segment, and part of the name.
  if (segment === "") return isLast;
  const plain = segment.replace(/%2e/gi, ".");
  return plain !== "." && plain !== ".." && !dotsBeforeParameters.test(plain);
}

/** Undefined for invalid percent-encoding, and for encoded bytes that are not UTF-8. */
function decoded(path: string): string | undefined {
  if (!path.includes("%")) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

const parameters = /;|%3b/i;

function indexOfParameters(segment: string): number {
  const found = segment.search(parameters);
  return found === -1 ? segment.length : found;
}
