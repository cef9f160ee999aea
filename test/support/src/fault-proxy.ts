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
  /** Resets every open connection and refuses new ones: the server is gone. */
  refuse(): Promise<void>;
  /** Takes connections again. */
  accept(): Promise<void>;
  /** Carries nothing, on open connections and new ones alike: the network swallows everything. */
  freeze(): void;
  /** Carries everything again, what was held back included. */
  thaw(): void;
  stop(): Promise<void>;
}

export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  const open = new Set<[client: Socket, target: Socket]>();
  let isFrozen = false;
  const server = createServer((client) => {
    const target = connect(targetPort, "127.0.0.1");
    const pair: [Socket, Socket] = [client, target];
    open.add(pair);
    for (const [from, to] of [pair, pair.toReversed()] as [Socket, Socket][]) {
      if (!isFrozen) from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        to.destroy();
        open.delete(pair);
      });
    }
  });
  const port = await freePort();
  const listen = async () => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  };
  const close = async () => {
    if (!server.listening) return;
    server.close();
    await once(server, "close");
  };
  await listen();
  const everySocket = () => [...open].flat();
  return {
    port,
    stall: () => {
      for (const socket of everySocket()) socket.unpipe().pause();
    },
    sever: () => {
      for (const socket of everySocket()) socket.resetAndDestroy();
    },
    async refuse() {
      const closed = close();
      for (const socket of everySocket()) socket.resetAndDestroy();
      await closed;
    },
    accept: listen,
    freeze() {
      isFrozen = true;
      for (const socket of everySocket()) socket.unpipe().pause();
    },
    thaw() {
      isFrozen = false;
      for (const [client, target] of open) {
        client.pipe(target);
        target.pipe(client);
      }
    },
    async stop() {
      for (const socket of everySocket()) socket.destroy();
      await close();
    },
  };
}
