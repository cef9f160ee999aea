import { Agent, createServer } from "node:http";
import { createProxyServer } from "http-proxy-3";
import { listen } from "./listen.ts";

const [target = ""] = process.argv.slice(2);
const proxy = createProxyServer({ target, agent: new Agent({ keepAlive: true, maxSockets: 64 }) });
listen(createServer((request, response) => void proxy.web(request, response)));
