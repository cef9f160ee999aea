import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

/** An answer of the enforcement point itself. */
export interface Answer {
  readonly status: number;
  /** Name, value, ... */
  readonly headers: readonly string[];
  readonly body: string;
}

/** Writes an answer of our own. If the agent received the head of another, its connection is cut instead. */
export function writeAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Answer,
): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, [...headers, "content-length", String(Buffer.byteLength(body))]);
  response.end(request.method === "HEAD" ? undefined : body);
}

/** The same on the socket of an upgrade or a CONNECT, which it closes. */
export function writeAnswerToSocket(socket: Duplex, { status, headers, body }: Answer): void {
  if (!socket.writable) return void socket.destroy();
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`];
  for (let at = 0; at + 1 < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  lines.push(
    `date: ${new Date().toUTCString()}`,
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
    "",
    body,
  );
  socket.end(lines.join("\r\n"), () => socket.destroy());
}
