import type { Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { ListenAddress } from "@svc/host";

export interface Serving {
  readonly port: number;
  readonly adminPort: number;
  /**
   * Serves on until the grace period nears its end, since the agent may outlive the signal (contract: Time budgets);
   * then takes no more, lets what is under way finish, and cuts what has not finished at the end.
   */
  drain(graceMs: number): Promise<void>;
}

export interface ServingOptions {
  readonly listen: ListenAddress;
  readonly adminListen: ListenAddress;
}

/** How much of the grace period is kept for calls under way; the rest is served. */
const longestFinishMs = 5_000;

export async function serve(proxy: Server, admin: Server, options: ServingOptions): Promise<Serving> {
  const { listen, adminListen } = options;
  const sockets = trackSockets(proxy);
  await open(admin, adminListen);
  await open(proxy, listen);
  return {
    port: portOf(proxy),
    adminPort: portOf(admin),
    async drain(graceMs) {
      const finishMs = Math.min(longestFinishMs, graceMs / 2);
      await delay(graceMs - finishMs);
      await finish(proxy, sockets, finishMs);
      admin.close();
      admin.closeAllConnections();
    },
  };
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

function open(server: Server, { host, port }: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** Upgraded connections and tunnels among them, which the server itself forgets. */
function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

const idleCheckMs = 50;

async function finish(server: Server, sockets: ReadonlySet<Socket>, withinMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection that falls idle after its last answer has no reason to stay.
  const idling = setInterval(() => server.closeIdleConnections(), idleCheckMs);
  const cut = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, withinMs);
  await closed;
  clearInterval(idling);
  clearTimeout(cut);
}
