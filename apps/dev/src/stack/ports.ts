import { once } from "node:events";
import { createServer } from "node:net";
import { Fault } from "../fault.ts";

/** Ports of the two apps' listeners where nothing else is asked for (docs/reference/settings.md#dev---json). */
const preferred = { controlPlane: 8080, pep: 16_001, pepAdmin: 16_020 } as const;

export interface StackPorts {
  readonly controlPlane: number;
  readonly pep: number;
  readonly pepAdmin: number;
  readonly exampleMcp: number;
  readonly exampleHttp: number;
}

/**
 * The preferred ports where they are free, others where not.
 * @param asked of the control plane; 0 for free ones throughout
 */
export async function choosePorts(asked: number | undefined): Promise<StackPorts> {
  const chosen = new Set<number>();
  const take = async (wanted?: number): Promise<number> => {
    const candidate = wanted !== undefined && asked !== 0 ? wanted : 0;
    const port = candidate !== 0 && (await isFree(candidate)) ? candidate : await freePort(chosen);
    chosen.add(port);
    return port;
  };
  if (asked !== undefined && asked !== 0 && !(await isFree(asked))) {
    throw new Fault(`port ${asked} is in use`, "Choose another with --port, or any free one with --port 0.");
  }
  return {
    controlPlane: await take(asked ?? preferred.controlPlane),
    pep: await take(preferred.pep),
    pepAdmin: await take(preferred.pepAdmin),
    exampleMcp: await take(),
    exampleHttp: await take(),
  };
}

/** Below 32768, where outgoing connections take no ports from, so that it stays free until a child listens on it. */
export async function freePort(except: ReadonlySet<number> = new Set()): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (!except.has(port) && (await isFree(port))) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, "127.0.0.1");
  try {
    await once(probe, "listening");
    return true;
  } catch {
    return false;
  } finally {
    probe.close();
  }
}
