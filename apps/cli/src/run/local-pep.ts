import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { freePort, startProgram, untilReady } from "@svc/host/child-program";
import { Fault } from "../fault.ts";
import { withoutBearers } from "./environment.ts";

interface LocalPepOptions {
  readonly controlPlaneUrl: string;
  readonly upstreams: string;
  readonly mode: "enforce" | "observe";
  /** For calls without a token of their own. */
  readonly session: object;
}

export interface LocalPep {
  readonly url: string;
  stop(): Promise<void>;
}

/** An enforcement point on free loopback ports. Its session file has mode 0600 and is removed with it. */
export async function startLocalPep(options: LocalPepOptions, environment: NodeJS.ProcessEnv): Promise<LocalPep> {
  const folder = await mkdtemp(join(tmpdir(), "svc-run-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const sessionFile = join(folder, "session.json");
    await writeFile(sessionFile, JSON.stringify(options.session), { mode: 0o600 });
    const port = await freePort();
    const adminPort = await freePort(new Set([port]));
    const pep = startProgram({
      name: "enforcement point",
      url: import.meta.resolve("@svc/pep/main"),
      env: {
        SVC_DEV: "true",
        SVC_LOG_LEVEL: "error",
        ...withoutBearers(environment),
        SVC_PEP_GRACE_SECONDS: "0",
        SVC_CONTROL_PLANE_URL: options.controlPlaneUrl,
        SVC_PEP_CONFIG: resolve(options.upstreams),
        SVC_PEP_MODE: options.mode,
        SVC_PEP_SESSION_FILE: sessionFile,
        SVC_PEP_LISTEN: `127.0.0.1:${port}`,
        SVC_PEP_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
      },
    });
    const stop = async () => {
      await pep.stop();
      await remove();
    };
    await untilReady(pep, `http://127.0.0.1:${adminPort}/__svc/readyz`).catch(async (cause: unknown) => {
      await stop();
      throw new Fault((cause as Error).message, "See the lines above for the cause.");
    });
    return { url: `http://127.0.0.1:${port}`, stop };
  } catch (cause) {
    await remove();
    throw cause;
  }
}
