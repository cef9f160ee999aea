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
    const endAlone = () => {
      isEnded = true;
      socket.end();
    };
    socket.destroySoon = endAlone;
    const untilBytes = socket.bytesRead + lingerBytes;
    const untilMs = performance.now() + lingerMs;
    // Looks for the close too: a listener for each of a connection's requests would pile up on its socket.
    const looking = setInterval(() => {
      const isOver = socket.destroyed || socket.bytesRead > untilBytes || performance.now() > untilMs;
      if (!request.complete && !isOver) return;
      clearInterval(looking);
      if (!request.complete) return void socket.destroy();
      // The connection may serve more requests. One of them may linger already, with a method of its own.
      if (socket.destroySoon === endAlone) Reflect.deleteProperty(socket, "destroySoon");
      if (isEnded) socket.destroySoon();
    }, lookMs);
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
