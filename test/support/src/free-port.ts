import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A free loopback port below 32768, where the kernel's ports of outgoing connections begin, so that only another search
 * like this one can take it before its server starts.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const probe = createServer().listen(port, "127.0.0.1");
    try {
      await once(probe, "listening");
      return port;
    } catch {
      // Taken; the next one is tried.
    } finally {
      await new Promise((resolve) => probe.close(resolve));
    }
  }
}
