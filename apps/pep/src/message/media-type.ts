import { type RawHeaders, valuesOf } from "./headers.ts";

/** The values of a repeated header are joined, and then match nothing. */
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

/** Whether every reader gets the same text from the bytes: not compressed, and UTF-8. */
export function isPlainText({ contentType = "", contentEncoding = "identity" }: BodyHeaders): boolean {
  const isUtf8 = /^utf-?8$/i.test(charset.exec(contentType)?.[1] ?? "utf-8");
  return contentEncoding.toLowerCase() === "identity" && isUtf8 && !contentType.includes(",");
}

/** The same for a body declared as JSON. */
export const isPlainJson = (headers: BodyHeaders): boolean =>
  jsonType.test(headers.contentType ?? "") && isPlainText(headers);
