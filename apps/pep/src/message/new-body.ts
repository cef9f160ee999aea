/**
 * What describes the bytes of a body, or who may keep them and for how long: none of it is true of another body
 * (RFC 9110 section 8, RFC 9530, RFC 9421, RFC 9111).
 */
const ofOldBody: ReadonlySet<string> = new Set([
  ...["accept-ranges", "content-encoding", "content-length", "content-location", "content-md5", "content-range"],
  ...["content-digest", "digest", "repr-digest", "unencoded-digest", "signature", "signature-input"],
  ...["age", "cache-control", "cdn-cache-control", "etag", "expires", "last-modified", "surrogate-control"],
]);

const ofOneCaller = ["cache-control", "private, no-store, no-transform, max-age=0"] as const;

/** The headers or trailers of a body that is written anew for one caller. */
export const withoutOldBody = (headers: readonly string[]): string[] =>
  headers.filter((_, index) => !ofOldBody.has(headers[index - (index % 2)]?.toLowerCase() ?? ""));

export const newBodyHeaders = (headers: readonly string[]): string[] => [...withoutOldBody(headers), ...ofOneCaller];
