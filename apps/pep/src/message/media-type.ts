import { type RawHeaders, valuesOf } from "./headers.ts";

/** Undefined for none; the values of a repeated header are joined, and then match nothing. */
function joined(headers: RawHeaders, name: string): string | undefined {
  const values = valuesOf(headers, name);
  return values.length === 0 ? undefined : values.join(", ");
}

const jsonType = /^application\/json\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;

/** Whether every reader gets the same text from the bytes: not compressed, and UTF-8. */
export function isPlainText(headers: RawHeaders): boolean {
  const contentType = joined(headers, "content-type") ?? "";
  const contentEncoding = joined(headers, "content-encoding") ?? "identity";
  const isUtf8 = /^utf-?8$/i.test(charset.exec(contentType)?.[1] ?? "utf-8");
  return contentEncoding.toLowerCase() === "identity" && isUtf8 && !contentType.includes(",");
}

/** The same for a body declared as JSON. */
export const isPlainJson = (headers: RawHeaders): boolean =>
  jsonType.test(joined(headers, "content-type") ?? "") && isPlainText(headers);
