import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { anAuthority } from "./certificates.ts";

/** An HTTPS upstream for requests and upgrades, with a certificate that the agent does not know; ends with the test. */
export async function startedTlsUpstream() {
  const { ca, issue } = await anAuthority();
  const received: string[] = [];
  const server = createServer(await issue(), async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    received.push(`${request.method} ${request.url} ${request.headers.host} ${body}`.trim());
    if (request.headers.accept === "text/event-stream") {
      response.writeHead(200, { "content-type": "text/event-stream" }).end('data: {"id":7}\n\n');
    } else if (request.headers.accept === "application/x-ndjson") response.write("{}\n");
    else response.end(`${request.headers.authorization?.slice(0, 9)}`);
  });
  server.on("upgrade", (_request, socket) => {
    socket.end("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nover the socket");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { ca, received, host, url: `https://${host}` };
}
