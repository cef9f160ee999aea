import { connect, createServer } from "node:net";
import { joinSockets } from "./joined-sockets.ts";

/** Runs in a network namespace of its own: its loopback port leads to a Unix socket outside, and nothing else leads out. */
const [, , socketPath = "", port = ""] = process.argv;

const server = createServer({ allowHalfOpen: true }, (inside) => {
  const outside = connect({ path: socketPath, allowHalfOpen: true });
  joinSockets(inside, outside);
});
server.listen(Number(port), "127.0.0.1", () => process.send?.("listening"));
