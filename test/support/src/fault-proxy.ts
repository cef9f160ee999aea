import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { freePort } from "./free-port.ts";

/** A TCP relay before a loopback port, to break connections in ways that no server offers. */
export interface FaultProxy {
  readonly port: number;
  /** Open connections stay open and carry nothing more, in either direction; new ones work. */
  stall(): void;
  /** Resets every open connection; new ones work. */
  sever(): void;
  stop(): Promise<void>;
}

export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  const open = new Set<[client: Socket, target: Socket]>();
  const server = createServer((client) => {
    const target = connect(targetPort, "127.0.0.1");
    const pair: [Socket, Socket] = [client, target];
    open.add(pair);
    for (const [from, to] of [pair, pair.toReversed()] as [Socket, Socket][]) {
      from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        to.destroy();
        open.delete(pair);
      });
    }
  });
  const port = await freePort();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const everySocket = () => [...open].flat();
  return {
    port,
    stall: () => {
      for (const socket of everySocket()) socket.unpipe().pause();
    },
    sever: () => {
      for (const socket of everySocket()) socket.resetAndDestroy();
    },
    async stop() {
      for (const socket of everySocket()) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
