import type fc from "fast-check";
import type { Heard } from "./agent.ts";
import type { Arrival } from "./observed.ts";

/** What one case says and how it is held to account, beyond what holds for all of them. */
export interface Case {
  /** Latin-1. `{bearer}`, `{session}`, `{own}` and `{case}` stand for what is known when it is sent. */
  readonly send: string;
  /** How an upstream answers it, in bytes. */
  readonly answer?: string;
  readonly isHead?: boolean;
  /** @returns one line for each thing that does not hold */
  readonly check?: (heard: Heard, arrivals: readonly Arrival[]) => readonly string[];
}

export interface Target {
  readonly name: string;
  readonly about: string;
  readonly cases: fc.Arbitrary<Case>;
}

export const acting = ["Authorization: Bearer {bearer}", "X-Svc-Session: {session}", "X-Case: {case}"];

/** The bytes of a request whose end shows by its connection's. */
export const requestOf = (line: string, headers: readonly string[], body = ""): string =>
  [`${line} HTTP/1.1`, ...acting, ...headers, "Connection: close", "", body].join("\r\n");

/** Every text in a string of bytes, one character each. */
export const asLatin1 = (text: string): string => Buffer.from(text, "utf8").toString("latin1");
