import type { BlockCause } from "@svc/core";

/**
 * One request as the bytes an agent sends, and everything that must come of it. Latin-1 throughout. `{bearer}` and
 * `{session}` stand for a live root grant and its session, `{own}` and `{port}` for the enforcement point's own
 * authority, `{upstream}` for that of the upstream, `{authorization}` for what the upstream was shown last, `{forged}`
 * for a bearer that nobody signed, `{narrowed}` and `{narrowedSession}` for a token that a tool holds.
 */
export interface Exchange {
  readonly name: string;
  readonly send: string;
  /** Sent when the enforcement point has answered `100 Continue`, and not before. */
  readonly afterContinue?: string;
  /** Ends its side of the connection once everything was sent. */
  readonly agent?: "ends";
  /** What the upstream does in place of a plain 200: these bytes, a reset, an end without a byte, or nothing at all. */
  readonly upstream?: { readonly bytes: string } | "resets" | "closes" | "is silent";
  readonly want: Want;
}

export type Want =
  /** A block of ours: status, body and header say so, the counter moved, and the upstream received nothing. */
  | { readonly blocked: BlockCause; readonly status: number; readonly answer?: RegExp }
  /** A JSON-RPC error in a 200, marked by the header alone. */
  | { readonly inBand: BlockCause; readonly id: string | number }
  /** Not HTTP that two readers frame alike: refused by the parser, closed, never a call. */
  | { readonly malformed: readonly number[] }
  /** Answered although the upstream failed: no block. */
  | { readonly failed: 502 | 504; readonly sent: Sent }
  /** The agent sees its connection end in the middle of the answer. */
  | { readonly aborted: RegExp; readonly sent: Sent }
  | { readonly passes: Sent; readonly answer?: RegExp | readonly RegExp[]; readonly hides?: RegExp };

/** What the upstream received: exactly this, and exactly once. */
export interface Sent {
  /** The audience of the token that it was shown; null where it is shown none of ours. */
  readonly target: string | null;
  /** Method and request target, byte for byte. */
  readonly line: string;
  /** `name: value`, the name in any case. */
  readonly headers?: readonly string[];
  /** Names or values that stand nowhere in its head. */
  readonly without?: readonly string[];
  readonly body?: string;
  /** Bound to the body by a transaction token. */
  readonly isPrivileged?: boolean;
}

export const acting = ["Authorization: Bearer {bearer}", "X-Svc-Session: {session}"];

/** The bytes of a request: its line, our two headers, others, a body. Every one asks to close, so that its end shows. */
export function request(line: string, headers: readonly string[] = [], body = ""): string {
  return [`${line} HTTP/1.1`, ...acting, ...settled(headers), "", body].join("\r\n");
}

/** The same without any credential. */
export function anonymous(line: string, headers: readonly string[] = [], body = ""): string {
  return [`${line} HTTP/1.1`, ...settled(headers), "", body].join("\r\n");
}

/** With the length of its body. */
export const post = (target: string, body: string, headers: readonly string[] = []): string =>
  request(
    `POST ${target}`,
    ["Content-Type: application/json", ...headers, `Content-Length: ${Buffer.byteLength(body, "latin1")}`],
    body,
  );

function settled(headers: readonly string[]): readonly string[] {
  const has = (name: string) => headers.some((line) => line.toLowerCase().startsWith(`${name}:`));
  return [...(has("host") ? [] : ["Host: {own}"]), ...headers, ...(has("connection") ? [] : ["Connection: close"])];
}
