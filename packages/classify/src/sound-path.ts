/**
 * Whether every server reads a path (without its query) the same way: nothing in it is decoded, collapsed or cut before
 * it is matched (docs/reference/enforcement-point.md#ambiguous-paths).
 */
export const isUnambiguousPath = (path: string): boolean =>
  path.startsWith("/") && !notPlain.test(path) && isSoundPath(path);

/** Whether a path, relative or not, names the same place encoded and decoded, and leads nowhere but down. */
export function isSoundPath(path: string): boolean {
  if (path.includes("\\") || encodedDelimiter.test(path) || encodedTwice.test(path)) return false;
  const text = decoded(path);
  if (text === undefined || /\p{Cc}/u.test(text)) return false;
  const segments = segmentsOf(path.startsWith("/") ? path : `/${path}`);
  return segments.every((segment, index) => isSoundSegment(segment, index === segments.length - 1));
}

/** The segments after the leading slash; the last is empty where the path ends in a slash. */
export const segmentsOf = (path: string): string[] => path.slice(1).split("/");

/** Undefined for invalid percent-encoding, and for encoded bytes that are not UTF-8. */
export function decoded(path: string): string | undefined {
  if (!path.includes("%")) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** A segment that some servers drop. */
export const isBlank = (segment: string): boolean => /^[. ]+$/.test(segment);

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
