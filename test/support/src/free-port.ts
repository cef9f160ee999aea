import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A loopback port that nobody listens on. Below 32768, where the kernel takes the ports of outgoing connections from, so
 * that only another search like this one can take it before its server starts.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const probe = createServer().listen(port, "127.0.0.1");
    try {
      await once(probe, "listening");
      return port;
    } catch {
      // Taken; another one will do.
    } finally {
      await new Promise((resolve) => probe.close(resolve));
    }
  }
}
