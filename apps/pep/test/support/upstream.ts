import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage["headers"];
  /** The whole body; resolves when it ended, rejects when it was cut off. */
  readonly body: Promise<string>;
}

export interface Upstream {
  readonly url: string;
  readonly received: Received[];
  readonly server: Server;
  /** Connections open now. */
  readonly sockets: ReadonlySet<Socket>;
}

type Handle = (request: IncomingMessage, response: ServerResponse, received: Received) => void;

const ok: Handle = async (_request, response, received) => {
  await received.body.catch(() => {});
  response.writeHead(200, { "content-type": "text/plain" }).end("done");
};

/** A server that notes what reached it; ends with the test. */
export async function startedUpstream(handle: Handle = ok): Promise<Upstream> {
  const received: Received[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const body = bodyOf(request);
    body.catch(() => {});
    const { method = "", url = "", rawHeaders, headers } = request;
    const note = { method, url, rawHeaders, headers, body };
    received.push(note);
    handle(request, response, note);
  });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, server, sockets };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
