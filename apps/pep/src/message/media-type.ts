import { type RawHeaders, valuesOf } from "./headers.ts";

/** How a body is encoded, by its headers; the values of a repeated one are joined, and then fit nothing. */
export interface BodyHeaders {
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
}

export const bodyHeadersOf = (headers: RawHeaders): BodyHeaders => ({
  contentType: joined(valuesOf(headers, "content-type")),
  contentEncoding: joined(valuesOf(headers, "content-encoding")),
});

const joined = (values: string[]): string | undefined => (values.length === 0 ? undefined : values.join(", "));

const jsonType = /^application\/json\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;

/** Whether the bytes read here are the text read there: not compressed, and in no other charset than UTF-8. */
export function isPlainText({ contentType = "", contentEncoding = "identity" }: BodyHeaders): boolean {
  const isUtf8 = /^utf-?8$/i.test(charset.exec(contentType)?.[1] ?? "utf-8");
  return contentEncoding.toLowerCase() === "identity" && isUtf8 && !contentType.includes(",");
}

/** The same, and said to be JSON. */
export const isPlainJson = (headers: BodyHeaders): boolean =>
  jsonType.test(headers.contentType ?? "") && isPlainText(headers);
