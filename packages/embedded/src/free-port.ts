import { once } from "node:events";
import { createServer } from "node:net";

/** A loopback port that nobody listens on at this moment; whoever uses it must expect to lose it now and then. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("the probe has no port");
  return address.port;
}
