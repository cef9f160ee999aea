/**
 * Whether a request path means one thing to everybody who may read it. What is refused here is what servers decode,
 * collapse or cut before they match (contract: How a call finds its target), so that the enforcement point and the
 * target never disagree about what was called.
 *
 * @param path the path of an origin-form request target, without its query
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

/** Whether the query can be passed on as it is: it takes no part in the decision. */
export const isPlainQuery = (query: string): boolean => !notVisible.test(query) && !query.includes("#");

/** The segments after the leading slash; the last is empty where the path ends in a slash. */
export const segmentsOf = (path: string): string[] => path.slice(1).split("/");

/**
 * A segment as the most liberal server would read it: decoded, and cut before its parameters (RFC 3986 section 3.3).
 * Only for paths that are unambiguous.
 */
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
