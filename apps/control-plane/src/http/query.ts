import { noQuery } from "@svc/core";
import type { z } from "zod";
import { invalidRequest, toIssues } from "./api-error.ts";

/** The text behind the `?`, without a fragment. */
export function queryText(url: string): string {
  const start = url.indexOf("?");
  return start === -1 ? "" : (url.slice(start + 1).split("#", 1)[0] ?? "");
}

/** Parameters as they were sent, each once. */
export type RawQuery = Readonly<Record<string, string>>;

/** @throws {ApiError} `invalid_request` for malformed encoding and repeated parameters. */
export function readQuery(url: string): RawQuery {
  const read = decodeUrlEncoded(queryText(url));
  if (read === undefined) throw invalidRequest("The query is not percent-encoded UTF-8.");
  if (read.repeated !== undefined) throw invalidQuery([{ path: read.repeated, message: "must not be repeated" }]);
  return Object.fromEntries(read.values);
}

/** @throws {ApiError} `invalid_request` for unknown and ill-typed parameters. */
export function decodeQuery<Schema extends z.ZodType>(raw: RawQuery, schema: Schema): z.output<Schema> {
  const decoded = schema.safeParse(raw);
  if (!decoded.success) throw invalidQuery(toIssues(decoded.error));
  return decoded.data;
}

/** @throws {ApiError} `invalid_request` for any parameter. */
export const requireNoQuery = (url: string): unknown => decodeQuery(readQuery(url), noQuery);

const invalidQuery = (issues: Parameters<typeof invalidRequest>[1]) =>
  invalidRequest("The query is not what this route takes.", issues);

/**
 * The values of a query or form by name (WHATWG URL: application/x-www-form-urlencoded), and the first name that is
 * repeated. Undefined where a browser would guess: malformed percent-encoding, or bytes that are not UTF-8.
 */
export function decodeUrlEncoded(text: string) {
  const values = new Map<string, string>();
  let repeated: string | undefined;
  try {
    for (const pair of text.split("&").filter((each) => each !== "")) {
      const [name = "", ...value] = pair.split("=");
      const decoded = decodePart(name);
      if (values.has(decoded)) repeated ??= decoded;
      values.set(decoded, decodePart(value.join("=")));
    }
    return { values, repeated };
  } catch {
    return undefined;
  }
}

/** Throws for bad percent-encoding and for bytes that are not UTF-8. A token, the longest of all, has nothing to decode. */
const decodePart = (part: string): string =>
  encoded.test(part) ? decodeURIComponent(part.replaceAll("+", " ")) : part;

const encoded = /[%+]/;
