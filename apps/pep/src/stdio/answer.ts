import type { RawHeaders } from "../message/headers.ts";

/** A request of the enforcement point, with its whole body. */
export interface BridgedRequest {
  readonly method: string;
  readonly headers: RawHeaders;
  readonly body: Buffer;
}

/** Where the answer to one request goes. */
export interface AnswerSink {
  head(status: number, headers: readonly string[]): void;
  write(chunk: Buffer): void;
  end(): void;
  /** Runs once if the other side disconnects before the end. */
  onGone(run: () => void): void;
}

const json = ["content-type", "application/json", "cache-control", "no-store"];

export function sendJson(
  answer: AnswerSink,
  status: number,
  body: Buffer | object,
  more: readonly string[] = [],
): void {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  answer.head(status, [...json, ...more, "content-length", String(bytes.length)]);
  answer.write(bytes);
  answer.end();
}

export function sendEmpty(answer: AnswerSink, status: number, headers: readonly string[] = []): void {
  answer.head(status, [...headers, "content-length", "0"]);
  answer.end();
}

export const streamHeaders = [
  "content-type",
  "text/event-stream",
  "cache-control",
  "no-store",
  "x-accel-buffering",
  "no",
];

/** One message as an event; it has no line end. */
export const eventOf = (message: Buffer): Buffer =>
  Buffer.concat([Buffer.from("event: message\ndata: "), message, Buffer.from("\n\n")]);

/** Beside JSON-RPC's own: those of the official SDK's HTTP server, and of MCP 2026-07-28. */
export const errorCodes = {
  parse: -32700,
  invalid: -32600,
  internal: -32603,
  noMethod: -32601,
  noSession: -32000,
  unknownSession: -32001,
  headerMismatch: -32020,
} as const;

export const rpcError = (id: string | number | undefined, code: number, message: string, data?: object): Buffer =>
  Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: id ?? null, error: { code, message, ...(data && { data }) } }));
