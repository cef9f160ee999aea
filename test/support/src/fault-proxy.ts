import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { Transform } from "node:stream";
import { freePort } from "@svc/host/child-program";
import { type AnswerFault, spoilable } from "./answer-fault.ts";

/** A TCP relay to a loopback port that breaks connections on command. */
export interface FaultProxy {
  readonly port: number;
  /** Open connections stay open and carry nothing more, in either direction; new ones work. */
  stall(): void;
  /** Resets every open connection; new ones work. */
  sever(): void;
  /** Resets every open connection and refuses new ones, as if the server were down. */
  refuse(): Promise<void>;
  /** Accepts connections again. */
  accept(): Promise<void>;
  /** Carries nothing, on open and new connections, as if the network dropped every packet. */
  freeze(): void;
  /** Carries everything again, including what it held back. */
  thaw(): void;
  /**
   * From now on the response to every request that contains `text` has this fault. The request itself reaches the
   * server and takes effect.
   */
  spoil(text: string, fault: AnswerFault): void;
  /** Responses are unchanged again, on new connections. */
  heal(): void;
  /** Bytes that clients sent, in order of arrival. */
  sent(): Buffer;
  stop(): Promise<void>;
}

interface Connection {
  readonly client: Socket;
  readonly target: Socket;
  /** Between the target's responses and the client. */
  readonly answers: Transform;
}

/** @param keepsSent whether `sent` is recorded, which grows with every call */
export async function startFaultProxy(targetPort: number, { keepsSent = true } = {}): Promise<FaultProxy> {
  const open = new Set<Connection>();
  const chunks: Buffer[] = [];
  let isFrozen = false;
  let spoiling: { readonly text: string; readonly fault: AnswerFault } | undefined;
  const relay = ({ client, target, answers }: Connection) => {
    client.pipe(target);
    target.pipe(answers);
  };
  const server = createServer((client) => {
    const target = connect(targetPort, "127.0.0.1");
    const answers = spoilable(client);
    const connection = { client, target, answers };
    open.add(connection);
    answers.pipe(client);
    if (!isFrozen) relay(connection);
    client.on("data", (chunk: Buffer) => {
      if (keepsSent) chunks.push(chunk);
      if (spoiling && chunk.includes(spoiling.text)) answers.spoil(spoiling.fault);
    });
    if (isFrozen) client.pause();
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      from.on("error", () => to.destroy());
      from.on("close", () => {
        to.destroy();
        open.delete(connection);
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
  const everySocket = () => [...open].flatMap(({ client, target }) => [client, target]);
  const hold = () => {
    for (const socket of everySocket()) socket.unpipe().pause();
  };
  return {
    port,
    stall: hold,
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
      hold();
    },
    thaw() {
      isFrozen = false;
      for (const connection of open) relay(connection);
    },
    spoil: (text, fault) => {
      spoiling = { text, fault };
    },
    heal: () => {
      spoiling = undefined;
    },
    sent: () => Buffer.concat(chunks),
    async stop() {
      for (const socket of everySocket()) socket.destroy();
      await close();
    },
  };
}
