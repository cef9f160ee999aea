import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { freePort, type RunningProgram, startProgram, untilReady } from "@svc/host/child-program";
import { Fault } from "../fault.ts";

/** An agent and its enforcement point get no bearers of the control plane's planes. */
export const withoutBearers = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^SVC_(ADMIN|AUDIT|IDENTITY)_TOKEN/.test(name)));

export interface PepFlags {
  readonly upstreams: string;
  readonly mode: "enforce" | "observe";
}

/** An enforcement point on free loopback ports. @param session of calls without a token, in a file of mode 0600 */
export async function startLocalPep(controlPlaneUrl: string, session: object, { upstreams, mode }: PepFlags) {
  const folder = await mkdtemp(join(tmpdir(), "svc-run-"));
  let pep: RunningProgram | undefined;
  const stop = async () => {
    await pep?.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const sessionFile = join(folder, "session.json");
    await writeFile(sessionFile, JSON.stringify(session), { mode: 0o600 });
    const port = await freePort();
    const adminPort = await freePort(new Set([port]));
    pep = startProgram({
      name: "enforcement point",
      url: import.meta.resolve("@svc/pep/main"),
      env: {
        SVC_DEV: "true",
        SVC_LOG_LEVEL: "error",
        ...withoutBearers(),
        SVC_PEP_GRACE_SECONDS: "0",
        SVC_CONTROL_PLANE_URL: controlPlaneUrl,
        SVC_PEP_CONFIG: resolve(upstreams),
        SVC_PEP_MODE: mode,
        SVC_PEP_SESSION_FILE: sessionFile,
        SVC_PEP_LISTEN: `127.0.0.1:${port}`,
        SVC_PEP_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
      },
    });
    await untilReady(pep, `http://127.0.0.1:${adminPort}/__svc/readyz`).catch((cause: Error) => {
      throw new Fault(cause.message, "See the lines above for the cause.");
    });
    return { url: `http://127.0.0.1:${port}`, stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
}
