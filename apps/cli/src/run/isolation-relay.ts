import { connect, createServer } from "node:net";

/** Runs in a network namespace of its own: its loopback port leads to a Unix socket outside, and nothing else leads out. */
const [, , socketPath = "", port = ""] = process.argv;

const server = createServer({ allowHalfOpen: true }, (inside) => {
  const outside = connect({ path: socketPath, allowHalfOpen: true });
  inside.pipe(outside).pipe(inside);
  for (const [one, other] of [
    [inside, outside],
    [outside, inside],
  ] as const) {
    one.on("error", () => other.destroy());
    one.once("close", () => other.destroy());
  }
});
server.listen(Number(port), "127.0.0.1", () => process.send?.("listening"));
