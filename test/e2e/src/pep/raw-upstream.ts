import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

export interface RawUpstream {
  readonly url: string;
  readonly sockets: ReadonlySet<Socket>;
  /** Requests whose head arrived. */
  arrivals(): number;
  stop(): Promise<void>;
}

export type Behaviour = (socket: Socket) => void;

export const headOf = (lines: readonly string[]): string => [...lines, "", ""].join("\r\n");
export const plainAnswer = headOf(["HTTP/1.1 200 OK", "Content-Length: 4", "Connection: close"]).concat("done");
export const answers: Behaviour = (socket) => void socket.end(plainAnswer);

/**
 * A TCP server that reads a request's head only, and then applies the action in `byPath` for the request's path, or
 * responds.
 */
export async function startRawUpstream(byPath: Readonly<Record<string, Behaviour>>): Promise<RawUpstream> {
  const sockets = new Set<Socket>();
  let arrived = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    let head = "";
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      if (head.includes("\r\n\r\n")) return;
      head += chunk.toString("latin1");
      if (!head.includes("\r\n\r\n")) return;
      arrived += 1;
      (byPath[head.split(" ")[1] ?? ""] ?? answers)(socket);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    arrivals: () => arrived,
    async stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}
