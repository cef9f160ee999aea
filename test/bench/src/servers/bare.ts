import { createServer } from "node:http";
import { listen } from "./listen.ts";

/** The lower bound of an HTTP service in Node: it reads the body and returns JSON of a hop's size. */
const answer = JSON.stringify({ access_token: "x".repeat(700), token_type: "Bearer", expires_in: 60 });

listen(
  createServer((request, response) => {
    request.resume().once("end", () => {
      response.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
      response.end(answer);
    });
  }),
);
