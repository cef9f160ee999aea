import type { Socket } from "node:net";

/** Passes bytes between two sockets that both allow half-open connections, until both ended or either failed. */
export function joinSockets(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one);
  endWith(one, other);
  endWith(other, one);
}

function endWith(socket: Socket, peer: Socket): void {
  socket.on("error", () => peer.destroy());
  // What was received before the end may still be on its way to a slow peer.
  socket.once("close", () => peer.destroySoon());
}
