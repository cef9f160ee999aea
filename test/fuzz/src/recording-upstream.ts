import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** An upstream's request. */
export interface Arrival {
  /** Which upstream. */
  readonly at: string;
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export interface ObservedUpstream {
  readonly url: string;
  /** Returns and clears what arrived since the last call. */
  take(): Arrival[];
  /** Bytes that are no HTTP request: the enforcement point must never send any. */
  readonly garbled: string[];
  stop(): Promise<void>;
}

const refusal = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/** @param answerFor bytes in place of a plain response, by the request's `X-Case` */
export async function startObserved(
  at: string,
  answerFor: (name: string) => string | undefined,
): Promise<ObservedUpstream> {
  let arrivals: Arrival[] = [];
  const garbled: string[] = [];
  const server = createServer({ requireHostHeader: true }, async (request, response) => {
    const pieces = await request.toArray().catch(() => undefined);
    // Cut by an agent that disconnected within its body.
    if (!pieces) return;
    const { method = "", url = "", rawHeaders } = request;
    arrivals.push({ at, method, url, rawHeaders, body: Buffer.concat(pieces) });
    const bytes = answerFor(String(request.headers["x-case"]));
    if (bytes === undefined) response.writeHead(200, { connection: "close" }).end("done");
    else request.socket.end(bytes, "latin1");
  });
  server.on("upgrade", ({ method = "", url = "", rawHeaders, headers }, socket: Socket) => {
    arrivals.push({ at, method, url, rawHeaders, body: Buffer.alloc(0) });
    socket.on("error", () => {});
    socket.end(answerFor(String(headers["x-case"])) ?? refusal, "latin1");
  });
  server.on("clientError", (error: Error & { code?: string; rawPacket?: Buffer }, socket: Socket) => {
    // A connection left by an aborted call is not malformed.
    if (error.code?.startsWith("HPE_") && error.code !== "HPE_INVALID_EOF_STATE") {
      garbled.push(`${error.code}: ${error.rawPacket?.toString("latin1")}`);
    }
    socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take() {
      const taken = arrivals;
      arrivals = [];
      return taken;
    },
    garbled,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
