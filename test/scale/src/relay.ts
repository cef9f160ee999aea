import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Accepts connections at one address and relays them to another. */
export interface Relay {
  readonly at: Address;
  isOpen(): boolean;
  /** Refuses from now on, and resets its connections. */
  close(): Promise<void>;
  /** Accepts connections again, at the same address. */
  open(): Promise<void>;
}

/** @param host address to listen on, at a free port */
export async function startRelay(host: string, to: Address): Promise<Relay> {
  const carried = new Set<Socket>();
  const keep = (socket: Socket): void => {
    carried.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => carried.delete(socket));
  };
  const serve = async (port: number): Promise<Server> => {
    const server = createServer((client) => {
      const target = connect(to);
      for (const socket of [client, target]) keep(socket);
      client.pipe(target).pipe(client);
      client.on("close", () => target.destroy());
      target.on("close", () => client.destroy());
    });
    server.listen(port, host);
    await once(server, "listening");
    return server;
  };
  let server: Server | undefined = await serve(0);
  const { port } = server.address() as { port: number };
  return {
    at: { host, port },
    isOpen: () => server !== undefined,
    async close() {
      const closing = server;
      server = undefined;
      for (const socket of carried) socket.resetAndDestroy();
      if (closing === undefined) return;
      closing.close();
      await once(closing, "close");
    },
    async open() {
      server ??= await serve(port);
    },
  };
}
