import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { onTestFinished } from "vitest";

/** A request as the application saw it, without what belongs to a connection. */
export interface Seen {
  readonly call: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

type Handle = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const text = (status: number, headers: object, body = "") =>
  ((_request, response) => response.writeHead(status, { ...headers }).end(body)) satisfies Handle;
const json = { "content-type": "application/json" };

/** What a web application does: pages, cookies, forms, uploads, redirects, an API, downloads, events. */
const handles: Readonly<Record<string, Handle>> = {
  "GET /": text(200, { "content-type": "text/html", "set-cookie": ["seen=1; Path=/", "theme=dark"] }, "<h1>hello</h1>"),
  "HEAD /": text(200, { "content-length": 12, etag: '"one"' }),
  "POST /login": (_request, response, body) => {
    response.writeHead(303, { location: "/home", "set-cookie": `user=${new URLSearchParams(body).get("user")}` }).end();
  },
  "GET /home": (request, response) => response.end(`cookies: ${request.headers.cookie}`),
  "POST /upload": (_request, response, body) => response.end(`${body.length} ${hashOf(body)}`),
  "PUT /files/a.bin": (_request, response, body) => response.writeHead(201).end(hashOf(body)),
  "POST /api/items": (_request, response, body) => response.writeHead(201, json).end(body),
  "POST /api/call": (_request, response, body) => response.writeHead(200, json).end(body),
  "GET /api/items": (request, response) => response.writeHead(200, json).end(JSON.stringify([request.url])),
  "PATCH /api/items/7": (request, response, body) =>
    response.writeHead(200, { etag: request.headers["if-match"] ?? "" }).end(body),
  "DELETE /api/items/7": text(204, {}),
  "GET /old": text(301, { location: "https://elsewhere.example/new?x=%20" }),
  "GET /again": text(307, { location: "/home" }),
  "OPTIONS /api/items": text(204, { "access-control-allow-origin": "*", allow: "GET, POST" }),
  "GET /zipped": (_request, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("text")),
  "GET /partial": text(206, { "content-range": "bytes 0-2/9" }, "abc"),
  "GET /cached": text(304, { etag: '"one"' }),
  "GET /events": text(200, { "content-type": "text/event-stream" }, "id: 1\ndata: one\n\ndata: two\n\n"),
  "GET /secret": text(401, { "www-authenticate": 'Basic realm="app"' }, "who are you?"),
  "GET /broken": text(500, { "retry-after": "7" }, "oops"),
};

export const hashOf = (body: string | Buffer): string => createHash("sha256").update(body).digest("hex");

/** A web application with a WebSocket that echoes; ends with the test. */
export async function startedApplication() {
  const seen: Seen[] = [];
  const note = ({ method, url, headers }: IncomingMessage, body: string) =>
    seen.push({ call: `${method} ${url}`, headers: applicationHeaders(headers), body: hashOf(body) });
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString("latin1");
    note(request, body);
    const [path] = (request.url ?? "").split("?");
    const handle = handles[`${request.method} ${path}`] ?? text(404, json, '{"error":"no such page"}');
    handle(request, response, body);
  });
  server.on("upgrade", (request, socket: Socket) => {
    note(request, "");
    const key = request.headers["sec-websocket-key"];
    const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    socket.on("error", () => {});
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    // One text frame and a close frame, then what comes is ignored.
    socket.once("data", () => socket.end(Buffer.from("\x81\x05hello\x88\x02\x03\xe8", "latin1")));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen };
}

/** Of a connection, of ours, or different in each run. */
const notTheApplications = new Set([
  ...["connection", "keep-alive", "transfer-encoding", "content-length", "date", "sec-websocket-key"],
  ...["via", "traceparent", "tracestate", "authorization", "x-svc-session", "txn-token"],
]);

export const applicationHeaders = (headers: IncomingMessage["headers"]): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !notTheApplications.has(name))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
