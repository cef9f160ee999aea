import type { Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { ErrorEnvelope } from "@svc/core";

/** Why no route ever saw a request, by the HTTP parser's own code. */
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: "431 Request Header Fields Too Large",
    code: "invalid_request",
    message: "The request line and the headers may have at most 16 KiB together.",
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: "413 Payload Too Large",
    code: "payload_too_large",
    message: "The chunk extensions are too large: send none.",
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: "408 Request Timeout",
    code: "invalid_request",
    message: "The request did not arrive in time: send it again.",
  },
};

interface Refusal {
  readonly status: string;
  readonly code: ErrorEnvelope["error"]["code"];
  readonly message: string;
}

const malformed: Refusal = {
  status: "400 Bad Request",
  code: "invalid_request",
  message: "The request is not well-formed HTTP/1.1.",
};

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

function rawAnswer({ status, code, message }: Refusal): string {
  const body = JSON.stringify({ error: { code, message } } satisfies ErrorEnvelope);
  const headers = [
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Cache-Control: no-store",
    "Connection: close",
  ];
  return [`HTTP/1.1 ${status}`, ...headers, "", body].join("\r\n");
}

/** For what the adapter refuses: no host, or none that makes an address with the request's target. */
export const malformedResponse = (): Response =>
  Response.json(
    { error: { code: malformed.code, message: "The request names no valid host." } } satisfies ErrorEnvelope,
    { status: 400, headers: { "Cache-Control": "no-store" } },
  );
