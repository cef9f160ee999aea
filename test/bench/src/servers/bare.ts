import { createServer } from "node:http";
import { listen } from "./listen.ts";

/** What any HTTP service in Node costs at the least: the body is read, and a JSON answer of a hop's size is sent. */
const answer = JSON.stringify({ access_token: "x".repeat(700), token_type: "Bearer", expires_in: 60 });

listen(
  createServer((request, response) => {
    request.resume().once("end", () => {
      response.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
      response.end(answer);
    });
  }),
);
