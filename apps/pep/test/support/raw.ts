import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface RawConnection {
  readonly socket: Socket;
  /** Everything received so far, as Latin-1. */
  text(): string;
  isClosed(): boolean;
  /** Resolves once `text()` matches; rejects when the connection ends without. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves with everything when the other side has closed. */
  closed(): Promise<string>;
}

/** A TCP connection that sends bytes as they are; ends with the test. */
export async function rawConnection(port: number, bytes = ""): Promise<RawConnection> {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  const listeners = new Set<() => void>();
  const tell = () => {
    for (const listener of listeners) listener();
  };
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
    tell();
  });
  let isClosed = false;
  socket.on("close", () => {
    isClosed = true;
    tell();
  });
  socket.on("error", () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.write(bytes, "latin1");
  const when = (condition: () => boolean) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        if (condition()) resolve(received);
        else if (isClosed) reject(new Error(`closed after: ${received}`));
        else return;
        listeners.delete(look);
      };
      listeners.add(look);
      look();
    });
  return {
    socket,
    text: () => received,
    isClosed: () => isClosed,
    until: (pattern) => when(() => pattern.test(received)),
    closed: () => when(() => isClosed),
  };
}
