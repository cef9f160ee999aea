import { z } from "zod";
import { clear, missing, queryValue, segmentValue, stepInto, tokenOf, unclear } from "./reading.ts";

/** What the pointers of a rule lead into. */
export interface CallArguments {
  /** A JSON value; undefined where there is none that every reader reads alike. */
  readonly json: unknown;
  /** The route's named path segments, as they were sent. */
  readonly segments?: Readonly<Record<string, string>> | undefined;
  /** The query as it was sent, without its question mark. */
  readonly query?: string | undefined;
}

/** A JSON pointer (RFC 6901), `:name` for a named path segment, `?name` for a query parameter. */
export const pointer = z
  .string()
  .regex(
    /^(?:(?:\/(?:[^~/]|~[01])*)+|:[A-Za-z_]\w*|\?[^\s&=%+;#]+)$/,
    "must be a JSON pointer such as /amount, :name of a path segment, or ?name of a query parameter",
  );

export const isJsonPointer = (text: string): boolean => text.startsWith("/");

export type Reader = (call: CallArguments) => unknown;

export function readerOf(text: string): Reader {
  const name = text.slice(1);
  if (text.startsWith(":")) return ({ segments }) => segmentValue(segments?.[name]);
  if (text.startsWith("?")) return ({ query }) => (query === undefined ? missing : queryValue(query, name));
  const tokens = tokensOf(text).map(tokenOf);
  return ({ json }) => {
    let value: unknown = json === undefined ? unclear : json;
    for (const token of tokens) value = stepInto(value, token);
    return clear(value);
  };
}

export const tokensOf = (text: string): readonly string[] =>
  text
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
