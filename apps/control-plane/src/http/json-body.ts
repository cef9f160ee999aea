import { decodeUtf8, type JsonFault, parseStrictJson } from "@svc/tokens";
import type { z } from "zod";
import { ApiError, invalidRequest, toIssues } from "./api-error.ts";
import { isMediaType, isUncoded, readBody } from "./body.ts";

/** Deeper than any body here means anything: parameters may nest 64 deep, inside their member of the body. */
const maxDepth = 66;

/**
 * The body's text, UTF-8 without a byte order mark.
 * @throws {ApiError} `unsupported_media_type`, `payload_too_large`, `invalid_request`.
 */
export async function readJsonText(request: Request, mediaType = "application/json"): Promise<string> {
  if (!isMediaType(request.headers, mediaType)) {
    throw new ApiError("unsupported_media_type", `The body must be ${mediaType} in UTF-8.`);
  }
  if (!isUncoded(request.headers)) {
    // RFC 9110 section 15.5.16: the header says which coding is taken.
    const headers = { "Accept-Encoding": "identity" };
    throw new ApiError("unsupported_media_type", "The body must be sent uncompressed.", { headers });
  }
  const text = decodeUtf8(await readBody(request));
  if (text === undefined || text.startsWith("\uFEFF")) throw illFormed(faults.encoding);
  return text;
}

/**
 * Decodes a body that says exactly one thing: well-formed, without repeated members, of the schema's shape.
 * @throws {ApiError} `invalid_request` with an issue for each fault.
 */
export function decodeJson<Schema extends z.ZodType>(text: string, schema: Schema): z.output<Schema> {
  const parsed = parseStrictJson(text, { maxDepth });
  if (!parsed.ok) throw illFormed(faults[parsed.cause]);
  if (parsed.duplicateDepth !== null) throw illFormed("must not repeat a member");
  if (parsed.loneSurrogate) throw illFormed("must be well-formed Unicode");
  return decodeParsed(parsed.value, schema);
}

/** @throws {ApiError} `invalid_request` with an issue for each fault. */
export function decodeParsed<Schema extends z.ZodType>(value: unknown, schema: Schema): z.output<Schema> {
  const decoded = schema.safeParse(value);
  if (!decoded.success) throw invalidRequest("The body is not what this route takes.", toIssues(decoded.error));
  return decoded.data;
}

const faults: Readonly<Record<JsonFault, string>> = {
  encoding: "must be UTF-8 without a byte order mark",
  syntax: "must be one JSON text",
  depth: `must not nest deeper than ${maxDepth}`,
};
export const illFormed = (message: string): ApiError =>
  invalidRequest("The body is not well-formed JSON.", [{ path: "", message }]);
