import type { IncomingMessage, ServerResponse } from "node:http";

const lingerMs = 5_000;
const lingerBytes = 1_048_576;
const lookMs = 20;

/**
 * Where the response ends before the request: reads the rest, within bounds, before the connection is closed, since a
 * close with bytes unread would throw the response away (RFC 9112 section 9.6).
 */
export function linger(request: IncomingMessage, response: ServerResponse): void {
  closeBeforeLongRest(request, response);
  // Before Node's own listener, which destroys the socket of a connection that is not kept.
  response.prependOnceListener("finish", () => {
    const { socket } = request;
    if (request.complete || socket.destroyed) return;
    let isEnded = false;
    socket.destroySoon = () => {
      isEnded = true;
      socket.end();
    };
    const untilBytes = socket.bytesRead + lingerBytes;
    const untilMs = performance.now() + lingerMs;
    const looking = setInterval(() => {
      const isOver = socket.bytesRead > untilBytes || performance.now() > untilMs;
      if (!request.complete && !isOver) return;
      clearInterval(looking);
      if (isEnded || isOver) socket.destroy();
    }, lookMs);
    socket.once("close", () => clearInterval(looking));
  });
}

/** A rest that may be too long to be read ends the connection, and its answer says so: no request may follow it. */
function closeBeforeLongRest(request: IncomingMessage, response: ServerResponse): void {
  const { writeHead } = response;
  const isShort = Number(request.headers["content-length"] ?? Number.NaN) <= lingerBytes;
  const hasBody = request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined;
  if (isShort || !hasBody) return;
  response.writeHead = ((...args: Parameters<typeof writeHead>) => {
    if (!request.complete) response.shouldKeepAlive = false;
    return writeHead.apply(response, args);
  }) as typeof writeHead;
}
