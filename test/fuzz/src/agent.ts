import { once } from "node:events";
import { connect } from "node:net";

/** A connection whose agent has finished ends by then, however busy the machine is. */
const endMs = 180_000;

export interface Received {
  /** Everything received, as Latin-1. */
  readonly text: string;
  /** The enforcement point did not close the connection. */
  readonly isHung: boolean;
}

/**
 * Sends bytes over their own connection, and reads until its end.
 *
 * @param quietMs without a byte for this long the agent ends its side
 */
export async function sendBytes(port: number, bytes: string, quietMs: number): Promise<Received> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  let isHung = false;
  socket.setEncoding("latin1").on("data", (piece: string) => {
    text += piece;
    quiet.refresh();
  });
  socket.on("error", () => {});
  const quiet = setTimeout(() => socket.end(), quietMs);
  const end = setTimeout(() => {
    isHung = true;
    socket.destroy();
  }, endMs);
  socket.write(bytes, "latin1");
  if (!socket.closed) await once(socket, "close").catch(() => undefined);
  clearTimeout(quiet);
  clearTimeout(end);
  return { text, isHung };
}
