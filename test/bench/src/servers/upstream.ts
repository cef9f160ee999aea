import { createServer } from "node:http";
import { listen } from "./listen.ts";

/** The tool behind everything: one small JSON answer, or as many bytes as are asked for by `/bytes/<n>`. */
const body = JSON.stringify({ id: 7, amount: "12.50", currency: "EUR", note: "x".repeat(200) });
const block = Buffer.alloc(64 * 1024, "x");

listen(
  createServer((request, response) => {
    const [, bytes] = /\/bytes\/(\d+)$/.exec(request.url ?? "") ?? [];
    // The whole of what is sent is read before the answer.
    request.resume().once("end", () => {
      if (bytes !== undefined) return void sendBytes(Number(bytes), response);
      response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
      response.end(body);
    });
  }),
);

async function sendBytes(count: number, response: import("node:http").ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "application/octet-stream", "content-length": count });
  for (let left = count; left > 0; left -= block.length) {
    if (response.destroyed) return;
    const chunk = left < block.length ? block.subarray(0, left) : block;
    if (!response.write(chunk))
      await new Promise<void>((resolve) => response.once("drain", resolve).once("close", resolve));
  }
  response.end();
}
