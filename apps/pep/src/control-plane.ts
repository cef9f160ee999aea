import { readFileSync } from "node:fs";
import type { Transport } from "@svc/client/steps";
import { Pool } from "undici";
import type { Config } from "./config.ts";
import { undiciTransport } from "./transport.ts";

/** A keep-alive pool to the control plane alone, so that no upload of an agent's stands before a decision. */
export function connectControlPlane({ controlPlane: { url, caFile }, limits }: Config): {
  transport: Transport;
  disconnect: () => Promise<void>;
} {
  const ca = caFile === undefined ? {} : { ca: readFileSync(caFile, "utf8") };
  const pool = new Pool(url.origin, { allowH2: false, pipelining: 1, connect: { ...ca, timeout: limits.stepMs } });
  return { transport: undiciTransport(pool, url), disconnect: () => pool.destroy() };
}
