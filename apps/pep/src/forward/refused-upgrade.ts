import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream";
import { type RawHeaders, responseVia, settledHeaders } from "../message/headers.ts";

/**
 * Passes an upstream's answer on that is no upgrade, and ends the connection. The proxy behind upgrades would frame a 204,
 * keep saying `Connection: Upgrade`, read faster than the agent, and end as if it were whole what was cut off.
 *
 * @param headers as the agent may see them
 */
export function passRefusal(
  request: IncomingMessage,
  socket: Duplex,
  answer: IncomingMessage,
  headers: RawHeaders,
): void {
  const { statusCode: status = 502 } = answer;
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  try {
    response.writeHead(status, [...settledHeaders([...headers], status, request), ...responseVia]);
  } catch {
    // Nothing that an upstream says may end the process.
    answer.destroy();
    return void socket.destroy();
  }
  pipeline(answer, response, (error) => (error ? socket.destroy() : socket.end()));
}
