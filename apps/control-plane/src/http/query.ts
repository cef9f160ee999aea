import { noQuery } from "@svc/core";
import type { z } from "zod";
import { invalidRequest, toIssues } from "./issues.ts";
import { decodeUrlEncoded, repeatedName } from "./url-encoded.ts";

/** The text behind the `?`, without a fragment. */
export function queryText(url: string): string {
  const start = url.indexOf("?");
  return start === -1 ? "" : (url.slice(start + 1).split("#", 1)[0] ?? "");
}

/** Parameters as they were sent, each once. */
export type RawQuery = Readonly<Record<string, string>>;

/** @throws {ApiError} `invalid_request` for malformed encoding and repeated parameters. */
export function readQuery(url: string): RawQuery {
  const pairs = decodeUrlEncoded(queryText(url));
  if (pairs === undefined) throw invalidRequest("The query is not percent-encoded UTF-8.");
  const repeated = repeatedName(pairs);
  if (repeated !== undefined) throw invalidQuery([{ path: repeated, message: "must not be repeated" }]);
  return Object.fromEntries(pairs);
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
