import { once } from "node:events";
import { connect } from "node:net";

/** A connection whose agent is done ends by then, however busy the machine is. */
const endMs = 180_000;

export interface Heard {
  /** Everything received, as Latin-1. */
  readonly text: string;
  /** The enforcement point never let go of the connection. */
  readonly isHung: boolean;
}

/**
 * Sends bytes over a connection of their own, and hears it out.
 *
 * @param quietMs nothing came for so long: then the agent says that it is done
 */
export async function say(port: number, bytes: string, quietMs: number): Promise<Heard> {
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
