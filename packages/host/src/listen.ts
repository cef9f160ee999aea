import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { ListenAddress } from "./values.ts";

type Server = HttpServer | HttpsServer;

export type Listening = Awaited<ReturnType<typeof listen>>;

/** `::` serves IPv6 and IPv4, on a machine without IPv6 IPv4 alone. @throws the system's error where it cannot listen there */
export async function listen(server: Server, { host, port }: ListenAddress) {
  const sockets = trackSockets(server);
  // Without a host Node does what `::` promises.
  if (host === "::") server.listen(port);
  else server.listen(port, host);
  await once(server, "listening");
  const address = server.address() as AddressInfo;
  return {
    host: address.family === "IPv6" ? `[${address.address}]` : address.address,
    port: address.port,
    /** From now on each response closes its connection, so that clients connect elsewhere (RFC 9112 section 9.6). */
    closeAfterResponses() {
      server.prependListener("request", (_request, response) => response.setHeader("connection", "close"));
    },
    /** Stops accepting. Calls in flight may finish until the deadline; then every connection is cut. */
    drain: (deadlineMs: number) => drain(server, sockets, deadlineMs),
  };
}

/** Also connections in a TLS handshake, upgraded ones and tunnels, which the HTTP server does not know. */
function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

/** Time for a request that is on its way, a new connection's first among them. */
const idleMs = 500;

async function drain(server: Server, sockets: ReadonlySet<Socket>, deadlineMs: number): Promise<void> {
  const closed = once(server, "close");
  // The HTTP server's own close would reset accepted connections whose first request is still on its way.
  NetServer.prototype.close.call(server);
  const idling = setInterval(() => server.closeIdleConnections(), idleMs);
  const cut = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, deadlineMs);
  await closed;
  clearInterval(idling);
  clearTimeout(cut);
}
