import { type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { ErrorCode, ErrorEnvelope } from "@svc/core";

const refusal = (status: number, message: string, code: ErrorCode = "invalid_request") => ({ status, code, message });

/** Why no route ever saw a request, by the HTTP parser's own code. */
const refusals: Readonly<Record<string, ReturnType<typeof refusal>>> = {
  HPE_HEADER_OVERFLOW: refusal(431, "The request line and the headers may have at most 16 KiB together."),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: refusal(413, "The chunk extensions are too large: send none.", "payload_too_large"),
  ERR_HTTP_REQUEST_TIMEOUT: refusal(408, "The request did not arrive in time: send it again."),
};

const malformed = refusal(400, "The request is not well-formed HTTP/1.1.");

/** Time to read the answer for a client that is still sending: an instant close would throw it away (RFC 9112 section 9.6). */
const lingerMs = 1_000;

/**
 * Answers what the HTTP parser refuses in the envelope (docs/reference/conventions.md#errors), and closes: what follows
 * on such a connection cannot be told apart.
 */
export function answerMalformed(server: Server): void {
  const latest = new WeakMap<Duplex, ServerResponse>();
  server.prependListener("request", (request, response) => latest.set(request.socket, response));
  server.on("clientError", (error: Error & { readonly code?: string }, socket) => {
    const { code = "" } = error;
    // A parser that gave up says so again with every byte that still comes.
    if (socket.writableEnded) return;
    const isHttp = code.startsWith("HPE_") || code === "ERR_HTTP_REQUEST_TIMEOUT";
    if (!isHttp || !socket.writable || isHalfAnswered(latest.get(socket))) {
      socket.destroy();
      return;
    }
    socket.end(rawAnswer(refusals[code] ?? malformed));
    setTimeout(() => socket.destroy(), lingerMs).unref();
  });
}

/** A second answer would be taken for more of the first. */
const isHalfAnswered = (response: ServerResponse | undefined): boolean =>
  response?.headersSent === true && !response.writableFinished;

function rawAnswer({ status, code, message }: ReturnType<typeof refusal>): string {
  const body = JSON.stringify({ error: { code, message } } satisfies ErrorEnvelope);
  const headers = [
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Cache-Control: no-store",
    "Connection: close",
  ];
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...headers, "", body].join("\r\n");
}

/** For what the adapter refuses: no host, or none that makes an address with the request's target. */
export const malformedResponse = (): Response =>
  Response.json(
    { error: { code: malformed.code, message: "The request names no valid host." } } satisfies ErrorEnvelope,
    { status: malformed.status, headers: { "Cache-Control": "no-store" } },
  );
