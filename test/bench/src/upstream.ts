import { createServer } from "node:http";

/** The tool behind everything: one small JSON answer. */
const body = JSON.stringify({ id: 7, amount: "12.50", currency: "EUR", note: "x".repeat(200) });

const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
});
server.listen(0, "127.0.0.1", () => process.send?.(server.address()));
