import { createServer } from "node:http";
import { listen } from "../../servers/listen.ts";
import { forward, poolOf } from "./forward.ts";

/** The lower bound of a proxy on `node:http` and undici: no decision, no header rules, no record, no limits. */
const [upstream = ""] = process.argv.slice(2);
const pool = poolOf(upstream);

listen(createServer((request, response) => forward(pool, request, response, request.rawHeaders)));
