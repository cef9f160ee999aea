import type { IncomingMessage, ServerResponse } from "node:http";
import { type Dispatcher, Pool } from "undici";

export const poolOf = (origin: string): Pool => new Pool(origin, { connections: 64, pipelining: 1 });

/** Forwards a request with these headers, and streams its response back. */
export function forward(pool: Pool, request: IncomingMessage, response: ServerResponse, headers: string[]): void {
  const { method = "GET", url: path = "/" } = request;
  const body = method === "GET" || method === "HEAD" ? null : request;
  pool.dispatch(
    { method: method as Dispatcher.HttpMethod, path, headers, body },
    {
      onRequestStart() {},
      onResponseStart: (_controller, status, fields) => void response.writeHead(status, fields),
      onResponseData(controller, chunk) {
        if (response.write(chunk)) return;
        controller.pause();
        response.once("drain", () => controller.resume());
      },
      onResponseEnd: () => void response.end(),
      onResponseError: () => void response.destroy(),
    },
  );
}
