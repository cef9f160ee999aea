import type { BlockCause } from "@svc/core";

/**
 * One request as an agent's bytes, and its expected result. Latin-1 throughout. `{bearer}` and `{session}` are replaced
 * by a live root grant and its session, `{own}` and `{port}` by the enforcement point's authority, `{upstream}` by the
 * upstream's, `{authorization}` by the last one the upstream received, `{forged}` by a bearer with a false signature,
 * `{narrowed}` and `{narrowedSession}` by a token that a tool received.
 */
export interface Exchange {
  readonly name: string;
  readonly send: string;
  /** Sent only after the enforcement point's `100 Continue`. */
  readonly afterContinue?: string;
  /** Ends its side of the connection after sending everything. */
  readonly agent?: "ends";
  /** The upstream's behaviour instead of a plain 200: these bytes, a reset, an end without a byte, or silence. */
  readonly upstream?: { readonly bytes: string } | "resets" | "closes" | "is silent";
  readonly want: Want;
}

export type Want =
  /** A block: status, body and header say so, the counter moved, and the upstream received nothing. */
  | { readonly blocked: BlockCause; readonly status: number; readonly answer?: RegExp }
  /** A JSON-RPC error, in a 200 where nothing else is said; only the header marks it. */
  | {
      readonly inBand: BlockCause;
      readonly id: string | number;
      readonly status?: number;
      readonly code?: number;
      readonly target?: string;
    }
  /** Ambiguous framing: the parser refuses and closes, and no call results. */
  | { readonly malformed: readonly number[] }
  /** A failed upstream's status, which is no block. */
  | { readonly failed: 502 | 504; readonly sent: Sent }
  /** The agent's connection ends in the middle of the response. */
  | { readonly aborted: RegExp; readonly sent: Sent }
  | { readonly passes: Sent; readonly answer?: RegExp | readonly RegExp[]; readonly hides?: RegExp };

/** The upstream received exactly this, exactly once. */
export interface Sent {
  /** The audience of the token it received; null where it received none of ours. */
  readonly target: string | null;
  /** Method and request target, byte for byte. */
  readonly line: string;
  /** `name: value`, the name in any case. */
  readonly headers?: readonly string[];
  /** Names or values that do not occur in its head. */
  readonly without?: readonly string[];
  readonly body?: string;
  /** Bound to the body by a transaction token. */
  readonly isPrivileged?: boolean;
}

export const acting = ["Authorization: Bearer {bearer}", "X-Svc-Session: {session}"];

/** The bytes of a request: its line, our two headers, others, a body. Each asks to close, so that its end shows. */
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
