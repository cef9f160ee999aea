import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

/** The upstream: it returns the status at the end of the path, and accepts WebSockets. */
export interface Tool {
  readonly url: string;
  readonly port: number;
  readonly requests: readonly IncomingMessage[];
  stop(): Promise<void>;
}

const statusOf = (path: string): number => {
  const status = Number(/\/([2-5]\d\d)$/.exec(path)?.[1]);
  // These two have no body (RFC 9110 section 6.4.1).
  return Number.isNaN(status) || status === 204 || status === 304 ? 200 : status;
};

export async function startTool(): Promise<Tool> {
  const requests: IncomingMessage[] = [];
  const open = new Set<Duplex>();
  const server = createServer((request, response) => {
    requests.push(request);
    request.resume().on("end", () => {
      response.writeHead(statusOf(request.url ?? ""), {
        "content-type": "application/json",
        "x-canary": "canary-answer-header",
      });
      response.end('{"jsonrpc":"2.0","id":7,"result":{"note":"canary-answer"}}');
    });
  });
  server.on("upgrade", (request, socket) => {
    requests.push(request);
    open.add(socket);
    socket.on("error", () => {});
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\ncanary-frame");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    async stop() {
      for (const socket of open) socket.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
