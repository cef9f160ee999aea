import { createServer, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { someBytes } from "../measure/blocks.ts";
import { listen } from "./listen.ts";

/** The tool: one small JSON response, or `/bytes/<n>` for n bytes. */
const body = JSON.stringify({ id: 7, amount: "12.50", currency: "EUR", note: "x".repeat(200) });

listen(
  createServer((request, response) => {
    const [, bytes] = /\/bytes\/(\d+)$/.exec(request.url ?? "") ?? [];
    // Reads the whole body before the response.
    request.resume().once("end", () => {
      if (bytes !== undefined) return sendBytes(Number(bytes), response);
      response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
      response.end(body);
    });
  }),
);

function sendBytes(count: number, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/octet-stream", "content-length": count });
  const bytes = someBytes(count);
  if (Buffer.isBuffer(bytes)) response.end(bytes);
  // A client that disconnected needs no more bytes.
  else pipeline(bytes, response).catch(() => {});
}
