import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Scenario } from "../stand.ts";

/** Requests of a hostile or slow client that begin and never end. */
const beginnings = [
  "",
  "GET /enforced/read/1 HTTP/1.1\r\nHost: a",
  "POST /v1/authorize HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{",
  "POST /v1/token/exchange HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nff\r\na",
] as const;
const perProcess = 100;

export const slowClients: Scenario = {
  name: "a hundred clients a process that never finish a request",
  async inject({ deployment, load, random }) {
    const sockets: Socket[] = [];
    for (const { port } of [...deployment.controlPlanes, ...deployment.enforcementPoints]) {
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
