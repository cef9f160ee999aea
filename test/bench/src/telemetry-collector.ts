import { createServer } from "node:http";

/** Takes whatever spans it is sent. */
const server = createServer((request, response) => {
  request.resume().on("end", () => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
});
server.listen(0, "127.0.0.1", () => process.send?.(server.address()));
