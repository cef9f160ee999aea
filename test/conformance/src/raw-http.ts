import { once } from "node:events";
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { waitUntil } from "@svc/test-support";

export interface Listener {
  readonly name: string;
  readonly port: number;
  readonly isTls: boolean;
  /** A path that answers 200 to GET. */
  readonly alive: string;
  /** A path that reads the body of a POST, where there is one. */
  readonly takes: string;
  readonly isProxy: boolean;
}

export interface RawAnswers {
  readonly text: string;
  /** In order, without 100. */
  readonly statuses: readonly number[];
  readonly isClosed: boolean;
}

export async function connectTo({ port, isTls }: Pick<Listener, "port" | "isTls">): Promise<Socket> {
  // A client that ends with the server would hide a close that throws its answer away.
  const to = { host: "127.0.0.1", port, allowHalfOpen: true };
  const socket = isTls ? connectTls({ ...to, rejectUnauthorized: false }) : connectPlain(to);
  socket.on("error", () => {});
  await once(socket, isTls ? "secureConnect" : "connect");
  return socket;
}

/** Sends bytes as they are, and what follows once they are answered. @param untilClosed else the first answer is enough */
export async function exchangeRaw(listener: Listener, bytes: string, untilClosed: boolean): Promise<RawAnswers> {
  const socket = await connectTo(listener);
  let text = "";
  let isClosed = false;
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
  });
  for (const event of ["end", "close"]) {
    socket.once(event, () => {
      isClosed = true;
    });
  }
  socket.write(bytes, "latin1");
  const statuses = () =>
    [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status)).filter((status) => status !== 100);
  await waitUntil("an answer", () => isClosed || (!untilClosed && statuses().length > 0));
  socket.destroy();
  return { text, statuses: statuses(), isClosed };
}
