import { createServer } from "node:http";
import { Pool } from "undici";
import { listen } from "./listen.ts";

/** The least a Node proxy can do with undici: no decision, no header rules, no record. */
const [origin = ""] = process.argv.slice(2);
const pool = new Pool(origin, { connections: 64, pipelining: 1 });

listen(
  createServer((request, response) => {
    const { method = "GET", url = "/", headers } = request;
    const body = method === "GET" || method === "HEAD" ? null : request;
    pool
      .stream({ method: method as "GET", path: url, headers: { ...headers }, body, opaque: response }, (answer) => {
        response.writeHead(answer.statusCode, answer.headers as Record<string, string>);
        return response;
      })
      .catch(() => response.destroy());
  }),
);
