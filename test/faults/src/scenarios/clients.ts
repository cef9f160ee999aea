import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Scenario } from "../stand.ts";

/** How a client that means harm, or is on a bad line, begins and never ends. */
const beginnings = [
  "",
  "GET /enforced/read/1 HTTP/1.1\r\nHost: a",
  "POST /v1/authorize HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{",
  "POST /v1/token/exchange HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nff\r\na",
] as const;
const perProcess = 100;

export const slowClients: Scenario = {
  name: "a hundred clients a process that begin a request and do not go on",
  async inject({ world, load, random }) {
    const sockets: Socket[] = [];
    for (const { port } of [...world.controlPlanes, ...world.enforcementPoints]) {
      for (let count = 0; count < perProcess; count += 1) sockets.push(await begin(port, random.of(beginnings)));
    }
    try {
      await load.passes(50);
      const drips = sockets.filter(({ destroyed }) => !destroyed);
      for (const socket of drips) socket.write("x");
      await load.passes(50);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    return sockets.length;
  },
};

async function begin(port: number, bytes: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => socket.destroy());
  await once(socket, "connect");
  socket.resume().write(bytes);
  return socket;
}
