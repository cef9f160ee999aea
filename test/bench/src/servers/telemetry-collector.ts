import { createServer } from "node:http";
import { listen } from "./listen.ts";

/** Accepts any spans. */
listen(
  createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
  }),
);
