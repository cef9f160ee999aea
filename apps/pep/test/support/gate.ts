import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** Accepts connections at once and carries them to `url` only when it opens; ends with the test. */
export async function closedGate(url: string) {
  const { hostname, port: target } = new URL(url);
  const waiting: Socket[] = [];
  const sockets = new Set<Socket>();
  let isOpen = false;
  const carry = (socket: Socket) => {
    const onward = connect(Number(target), hostname);
    sockets.add(onward);
    onward.on("error", () => socket.destroy()).on("close", () => socket.destroy());
    socket.on("close", () => onward.destroy());
    socket.pipe(onward).pipe(socket);
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    if (isOpen) carry(socket);
    else waiting.push(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    /** Connections that wait. */
    waiting,
    open() {
      isOpen = true;
      for (const socket of waiting.splice(0)) carry(socket);
    },
  };
}
