import type { IncomingMessage, ServerResponse } from "node:http";

const lingerMs = 5_000;
const lingerBytes = 1_048_576;
const lookMs = 20;

/**
 * Where the response ends before the request: reads the rest, within bounds, before the connection is closed, since a
 * close with bytes unread would throw the response away (RFC 9112 section 9.6).
 */
export function linger(request: IncomingMessage, response: ServerResponse): void {
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
