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

/**
 * The segments of an unambiguous path as the most liberal servers read them, each reading in one spelling: without a
 * trailing slash, cut at an encoded `?` or `#`, and without blank segments
 * (docs/reference/enforcement-point.md#one-reading-of-a-path).
 */
export function liberalReadings(path: string): readonly (readonly string[])[] {
  const cut = path.search(encodedCut);
  const paths = cut === -1 ? [path] : [path, path.slice(0, cut)];
  return paths.flatMap((each) => {
    const segments = liberalSegments(each);
    const isBlank = segments.some((segment) => blank.test(segment));
    return isBlank ? [segments, segments.filter((segment) => !blank.test(segment))] : [segments];
  });
}

/** The spelling that servers share: without a trailing slash, and each segment by `liberalSegment`. */
export const liberalSegments = (path: string): readonly string[] =>
  path === "/" ? [] : segmentsOf(path.endsWith("/") ? path.slice(0, -1) : path).map(liberalSegment);

/** Decoded as often as it can be, without parameters (RFC 3986 section 3.3), case, and trailing dots and spaces. */
function liberalSegment(segment: string): string {
  let text = withoutParameters(segment);
  for (let next = decoded(text); next !== undefined && next !== text; next = decoded(text)) {
    text = withoutParameters(next);
  }
  const folded = text.normalize("NFKC").toUpperCase().toLowerCase();
  return folded.replace(trailing, "") || folded;
}

const encodedCut = /%(?:25)*(?:3f|23)/i;
const blank = /^[. ]+$/;
const trailing = /[. ]+$/;
const parameters = /;|%3b/i;

function withoutParameters(segment: string): string {
  const found = segment.search(parameters);
  return found === -1 ? segment : segment.slice(0, found);
}

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
