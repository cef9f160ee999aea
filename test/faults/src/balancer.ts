import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { freePort } from "@svc/test-support";

/** One loopback address before several servers, like a load balancer or a primary's virtual address. */
export interface Balancer {
  readonly port: number;
  /** New connections go to these in turn, skipping servers that refuse. Open ones stay. */
  aim(ports: readonly number[]): void;
  /** Resets every open connection, as when an address moves to another machine. */
  sever(): void;
  stop(): Promise<void>;
}

export async function startBalancer(targets: readonly number[]): Promise<Balancer> {
  let ports = targets;
  let turn = 0;
  const open = new Set<Socket>();
  const server = createServer({ pauseOnConnect: true }, async (client) => {
    keep(open, client);
    const target = await firstThatTakes([...ports.slice(turn % ports.length), ...ports.slice(0, turn % ports.length)]);
    turn += 1;
    if (target === undefined || client.destroyed) {
      client.resetAndDestroy();
      target?.destroy();
      return;
    }
    keep(open, target);
    client.pipe(target).pipe(client);
    client.on("close", () => target.destroy());
    target.on("close", () => client.destroy());
  });
  const port = await freePort();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    port,
    aim(next) {
      ports = next;
    },
    sever() {
      for (const socket of open) socket.resetAndDestroy();
    },
    async stop() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function keep(open: Set<Socket>, socket: Socket): void {
  open.add(socket);
  socket.on("error", () => socket.destroy());
  socket.on("close", () => open.delete(socket));
}

async function firstThatTakes(ports: readonly number[]): Promise<Socket | undefined> {
  for (const port of ports) {
    const socket = connect(port, "127.0.0.1");
    try {
      await once(socket, "connect");
      return socket;
    } catch {
      // Refused; the next server is tried.
    }
  }
  return undefined;
}
