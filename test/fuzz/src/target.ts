import type fc from "fast-check";
import type { Received } from "./agent.ts";
import type { Arrival } from "./recording-upstream.ts";

/** One case, and its rules beyond those of all cases. */
export interface Case {
  /** Latin-1. `{bearer}`, `{session}`, `{own}` and `{case}` are replaced when it is sent. */
  readonly send: string;
  /** An upstream's response to it, in bytes. */
  readonly answer?: string;
  readonly isHead?: boolean;
  /** @returns one line for each violation */
  readonly check?: (received: Received, arrivals: readonly Arrival[]) => readonly string[];
}

export interface Target {
  readonly name: string;
  readonly about: string;
  readonly cases: fc.Arbitrary<Case>;
}

export const acting = ["Authorization: Bearer {bearer}", "X-Svc-Session: {session}", "X-Case: {case}"];

/** The bytes of a request that asks to close, so that its end shows. */
export const requestOf = (line: string, headers: readonly string[], body = ""): string =>
  [`${line} HTTP/1.1`, ...acting, ...headers, "Connection: close", "", body].join("\r\n");

/** Every text in a string of bytes, one character each. */
export const asLatin1 = (text: string): string => Buffer.from(text, "utf8").toString("latin1");
