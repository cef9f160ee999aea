import { decoded, folded, isBlank, segmentsOf } from "@svc/classify";

/** Whether the query can be forwarded unchanged; it has no part in the decision. */
export const isPlainQuery = (query: string): boolean => !notVisible.test(query) && !query.includes("#");

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
    return segments.some(isBlank) ? [segments, segments.filter((segment) => !isBlank(segment))] : [segments];
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
  const caseless = folded(text.normalize("NFKC"));
  return caseless.replace(trailing, "") || caseless;
}

const encodedCut = /%(?:25)*(?:3f|23)/i;
const trailing = /[. ]+$/;
const parameters = /;|%3b/i;

function withoutParameters(segment: string): string {
  const found = segment.search(parameters);
  return found === -1 ? segment : segment.slice(0, found);
}

const notVisible = /[^\x21-\x7e]/;
